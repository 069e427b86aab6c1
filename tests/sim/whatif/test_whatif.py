from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.cluster_variants import add_nodes, remove_nodes
from prophase.sim.request_variants import with_requests
from prophase.sim.signatures import ASK_GPUS, ASK_MILLI
from prophase.sim.sweep.resampled_traces import DrawnBlocks, blocks_for
from prophase.sim.whatif.comparison import (
    _verdict,
    compare_scenarios,
    runnable_scenarios,
)
from prophase.sim.whatif.result import what_if
from prophase.sim.whatif.scenarios import WhatIfQuestion, WhatIfScenario, policy_of, scenarios_of
from prophase.sim.whatif.smallest_cluster import parse_wait_target, smallest_clusters
from prophase.stats import Estimate

BASE = {"order": "fifo", "place": "best_fit", "queue": "skip"}


def trace(jobs: int = 400, gpus: float = 1.0) -> Workload:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"submit_s": np.sort(rng.uniform(0, 6 * 86400, jobs))})
    table["job_id"], table["duration_s"] = table.index.astype(str), rng.exponential(5000, jobs)
    table["user"] = np.where(table.index % 2, "odd", "even")
    return Workload.from_jobs(table.assign(request_gpus=gpus))


NODES = Cluster.from_nodes(
    pd.DataFrame(
        {
            "node_id": list("abcd"),
            "gpus": [8.0, 8.0, 2.0, 0.0],
            "gpu_type": ["V100", "V100", "T4", None],
            "cpu_cores": [96.0, 96.0, 48.0, 64.0],
        }
    )
)


def test_added_nodes_are_like_those_there_are():
    larger, remarks = add_nodes(NODES, "3xv100")
    assert larger.gpus == NODES.gpus + 24
    assert larger.nodes["cpu_cores"].iloc[-1] == 96
    assert remarks == []
    assert add_nodes(NODES, "1x2 T4 + 1x8 V100")[0].gpus == NODES.gpus + 10


def test_added_nodes_are_written_as_a_cluster_is():
    larger, _ = add_nodes(NODES, "2x8 V100 96c 1024g")
    assert larger.nodes.iloc[-1][["gpus", "cpu_cores", "memory_gib"]].tolist() == [8, 96, 1024]
    with pytest.raises(ParameterError, match="99,999,999 nodes is more than"):
        add_nodes(NODES, "99999999x8")
    with pytest.raises(ParameterError, match="has 0 such nodes"):
        remove_nodes(NODES, "1x8 V100 95c")


def test_a_new_kind_of_node_is_added_with_what_had_to_be_assumed():
    larger, remarks = add_nodes(NODES, "16xA10")
    assert larger.gpus == NODES.gpus + 16
    assert larger.nodes["cpu_cores"].iloc[-1] == 12
    assert "1 GPU per node with 12 cores" in remarks[0]


def test_nodes_are_removed_from_the_end_and_never_more_than_there_are():
    assert remove_nodes(NODES, "1xV100").nodes["node_id"].tolist() == ["a", "c", "d"]
    with pytest.raises(ParameterError, match=r"has 1 such nodes, not 3.*It has: 2x8 V100"):
        remove_nodes(NODES, "3xT4")
    with pytest.raises(ParameterError, match="no node would be left"):
        remove_nodes(Cluster.parse("2x8"), "2x8")


@pytest.mark.parametrize("text", ["", "V100", "0xV100", "16x", "many x 8"])
def test_nodes_that_are_not_understood_are_refused(text):
    with pytest.raises(ParameterError, match="not understood"):
        add_nodes(NODES, text)


def test_policies_are_read_as_order_place_queue():
    assert policy_of("shortest:fgd:strict") == {
        "order": "shortest",
        "place": "fgd",
        "queue": "strict",
    }
    for text in ("", "a:b:c:d", "column", "fifo::skip"):
        with pytest.raises(ParameterError, match="not understood"):
            policy_of(text)


def test_requests_are_replaced_by_job_or_by_any_column_that_names_jobs():
    workload = trace()
    by_user, remarks = with_requests(
        workload, pd.DataFrame({"user": ["odd"], "advised_gpus": [0.5]})
    )
    half = by_user.asks[:, ASK_MILLI] == 500
    assert (half == (workload.jobs["user"] == "odd")).all()
    assert "200 of 400 jobs" in remarks[0]


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ({"job_id": ["1"]}, MissingColumnError, "no column for a request"),
        ({"request_gpus": [1.0]}, MissingColumnError, "no column for a name"),
        ({"job_id": ["1", "1"], "request_gpus": [2.0, 3.0]}, InputError, "two rows for job_id 1"),
        ({"job_id": ["x"], "request_gpus": [2.0]}, InputError, "changes no request"),
        ({"job_id": ["1"], "request_gpus": [-2.0]}, InputError, "below 0"),
        ({"job_id": ["1"], "request_gpus": ["two"]}, InputError, "not a number"),
    ],
)
def test_a_table_of_requests_that_fits_no_job_is_refused(table, error, message):
    with pytest.raises(error, match=message):
        with_requests(trace(), pd.DataFrame(table))


def test_requests_below_the_recorded_peak_are_counted():
    workload = trace()
    workload.jobs["memory_peak_gib"] = 8.0
    _, remarks = with_requests(
        workload, pd.DataFrame({"user": ["odd"], "request_memory_gib": [4.0]})
    )
    assert "200 jobs then ask for less memory" in remarks[1]


def test_sharing_on_compares_shares_with_whole_gpus():
    found, _ = scenarios_of(
        WhatIfQuestion(sharing=True), trace(gpus=0.5), Cluster.parse("1x4"), BASE
    )
    assert [one.name for one in found] == ["baseline", "sharing on"]
    assert [int(one.workload.asks[0, ASK_MILLI]) for one in found] == [1000, 500]
    off, _ = scenarios_of(
        WhatIfQuestion(sharing=False), trace(gpus=0.5), Cluster.parse("1x4"), BASE
    )
    assert [int(one.workload.asks[0, ASK_MILLI]) for one in off] == [500, 1000]
    _, remarks = scenarios_of(WhatIfQuestion(sharing=True), trace(), Cluster.parse("1x4"), BASE)
    assert "sharing changes nothing" in remarks[0]


def test_advised_shares_do_not_sneak_sharing_into_a_baseline_without():
    asked = WhatIfQuestion(
        sharing=True, requests=pd.DataFrame({"user": ["odd"], "request_gpus": [0.25]})
    )
    found, _ = scenarios_of(asked, trace(gpus=0.5), Cluster.parse("1x4"), BASE)
    assert (found[-1].workload.asks[:, ASK_MILLI] == 1000).all()


def test_everything_together_has_room_for_one_load_and_one_policy():
    with pytest.raises(ParameterError, match="room for one load"):
        scenarios_of(WhatIfQuestion(loads=[1.1, 1.2], combine=True), trace(), NODES, BASE)
    with pytest.raises(ParameterError, match="asked twice"):
        scenarios_of(WhatIfQuestion(loads=[1.1, 1.1]), trace(), NODES, BASE)


def test_scenarios_are_ranked_with_paired_changes():
    asked = WhatIfQuestion(add=["2x1"], loads=[1.5], policies=["shortest"])
    found, _ = scenarios_of(asked, trace(), Cluster.parse("5x1"), BASE)
    compared = compare_scenarios(runnable_scenarios(found), seeds=10, block_h=24.0)
    ranked = compared.ranked().set_index("scenario")
    assert ranked.index[0] == "add 2x1"
    assert ranked.loc["add 2x1", "verdict"] == "better"
    assert ranked.loc["add 2x1", "change_high"] < 0
    assert ranked.loc["baseline", "change"] == 0
    assert ranked.loc["load x 1.5", "change"] > 0
    alone = simulate(found[0].workload, found[0].cluster, **BASE)
    assert ranked.loc["baseline", "mean_wait_s"] == pytest.approx(alone.wait_s.mean())
    larger = simulate(found[1].workload, found[1].cluster, **BASE)
    paired = larger.wait_s.mean() - alone.wait_s.mean()
    assert ranked.loc["add 2x1", "change"] == pytest.approx(paired)
    with pytest.raises(ParameterError, match="measure 'waiting' is unknown"):
        compared.ranked("waiting")


def busy_spells(days: int, spell: int) -> Workload:
    """Busy and calm days by lot, so many alike in a row."""
    rng = np.random.default_rng(1)
    jobs = np.repeat(rng.choice([20, 80], days), spell)[:days]
    submit = np.repeat(np.arange(days) * 86400.0, jobs) + 86400 * rng.random(jobs.sum())
    table = pd.DataFrame({"submit_s": np.sort(submit), "request_gpus": 1.0})
    table["job_id"], table["duration_s"] = (
        table.index.astype(str),
        rng.exponential(6000, len(table)),
    )
    return Workload.from_jobs(table)


def test_blocks_are_as_long_as_the_backlog_lasts():
    five = Cluster.parse("5x1")
    short = blocks_for(busy_spells(60, 1), five, BASE)
    long = blocks_for(busy_spells(60, 5), five, BASE)
    assert short.run < long.run
    assert long.run >= 5
    assert blocks_for(trace(), five, BASE, 24.0).run == 1


def test_a_trace_too_short_for_its_backlog_gets_a_wide_interval_and_no_draws_of_sizes():
    found, _ = scenarios_of(
        WhatIfQuestion(add=["1x1"]), busy_spells(12, 6), Cluster.parse("5x1"), BASE
    )
    compared = compare_scenarios(found)
    assert compared.drawn.independent == 6
    assert "hold together for" in compared.drawn.broken
    row = compared.ranked().set_index("scenario").loc["add 1x1"]
    assert row["change_low"] < row["change"] < 0
    answer = what_if(
        found[0].workload, found[0].cluster, WhatIfQuestion(add=["1x1"]), BASE,
        goal="p95_wait<1h",
    )  # fmt: skip
    assert any("Wide, because the load" in note for note in answer.notes)
    few = what_if(
        found[0].workload, found[0].cluster, WhatIfQuestion(add=["1x1"]), BASE, seeds=3
    )  # fmt: skip
    assert any("No intervals: only 3 resampled traces" in note for note in few.notes)
    assert not any("95 % interval" in note for note in few.notes)
    smallest = answer.values["smallest"][0]
    assert smallest["nodes"] > 0
    assert smallest["nodes_mean"] is None


@pytest.mark.parametrize("seeds", [0, 3])
def test_few_seeds_rank_scenarios_without_a_verdict(seeds):
    found, _ = scenarios_of(WhatIfQuestion(add=["2x1"]), trace(), Cluster.parse("5x1"), BASE)
    ranked = compare_scenarios(runnable_scenarios(found), seeds=seeds, block_h=24.0).ranked()
    assert ranked["verdict"].tolist() == ["no interval", "-"]
    assert ranked[["change_low", "mean_wait_s_high"]].isna().all(axis=None)


def test_a_job_that_one_scenario_cannot_run_is_refused_or_left_out_of_all():
    workload = trace()
    workload.jobs["gpu_type"] = None
    workload.jobs.loc[3, "gpu_type"] = "T4"
    cluster = Cluster.parse("4x1 V100, 1x1 T4")
    found, _ = scenarios_of(WhatIfQuestion(remove=["1xT4"]), workload, cluster, BASE)
    with pytest.raises(InputError, match=r"remove 1xT4: 1 of 400 jobs .* 3\. "):
        runnable_scenarios(found)
    assert {len(one.workload) for one in runnable_scenarios(found, leave_out_unfit=True)} == {399}


@pytest.mark.parametrize(
    ("text", "percentile", "limit_s"),
    [
        ("p95 wait < 15 min", 95.0, 900.0),
        ("mean jct <= 2h", None, 7200.0),
        ("MEDIAN wait<30 s", 50.0, 30.0),
        ("p99.9 wait < 1 d", 99.9, 86400.0),
    ],
)
def test_targets_are_read(text, percentile, limit_s):
    target = parse_wait_target(text)
    assert (target.percentile, target.limit_s) == (percentile, limit_s)


@pytest.mark.parametrize("text", ["fast", "p95 wait", "p95 wait > 3 s", "p95 wait < 3 yr", ""])
def test_targets_that_are_not_understood_are_refused(text):
    with pytest.raises(ParameterError, match=r"not understood|not a duration"):
        parse_wait_target(text)


def test_the_smallest_cluster_reaches_the_target_and_one_node_fewer_does_not():
    target = parse_wait_target("p95 wait < 10 min")
    for start in (1, 5, 40):
        scenario = WhatIfScenario("baseline", trace(), Cluster.parse(f"{start}x1"), BASE)
        found = smallest_clusters([scenario], target, seeds=2, blocks=DrawnBlocks(24.0, 1, 6))[0]
        reached = {
            nodes: target.value_s(simulate(trace(), Cluster.parse(f"{nodes}x1"), **BASE))
            for nodes in (found.nodes - 1, found.nodes)
        }
        assert reached[found.nodes] == found.value_s < 600 <= reached[found.nodes - 1]
        assert found.nodes_for_all_seeds >= found.nodes


def test_a_target_that_no_size_reaches_says_why():
    now = WhatIfScenario("baseline", trace(), Cluster.parse("2x1"), BASE)
    short = smallest_clusters([now], parse_wait_target("mean jct < 1 min"), seeds=2)[0]
    assert short.nodes is None
    assert "run times alone give" in short.why_not
    wide = trace()
    wide.asks[3, ASK_GPUS] = 2
    wide.jobs["gpu_type"] = None
    wide.jobs.loc[3, "gpu_type"] = "H100"
    stuck = WhatIfScenario("baseline", wide, Cluster.parse("2x4 T4"), BASE)
    never = smallest_clusters([stuck], parse_wait_target("mean wait < 1 min"), seeds=2)[0]
    assert "1 jobs fit on no kind of node" in never.why_not


def test_what_changes_nothing_in_any_replay_is_no_change() -> None:
    same = Estimate(0.0, reason="the same on all resampled traces")
    assert _verdict("twice", same, 1.0) == "no change"
    assert _verdict("twice", Estimate(3.0, reason="too short"), 1.0) == "no interval"
    assert _verdict("twice", Estimate(3.0, -1.0, 7.0), 1.0) == "no clear change"


def test_a_change_that_overloads_the_cluster_is_named_with_how_many_times():
    workload, cluster = trace(jobs=3000), Cluster.parse("40x1")
    question = WhatIfQuestion(loads=(1.2, 2.0))
    result = what_if(workload, cluster, question, policy=BASE, seeds=0)
    offered = float((workload.gpus * workload.duration_s).sum() / np.ptp(workload.submit_s))
    assert 20 < offered < 40
    assert list(result.values["overloaded"]) == ["load x 2"]
    assert result.values["overloaded"]["load x 2"] == pytest.approx(2 * offered / 40, rel=0.03)
    assert result.notes[0].startswith("Overloaded with load x 2 (1.")
