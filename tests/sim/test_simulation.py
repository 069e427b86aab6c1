from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, order_policies, place_policies, simulate
from prophase.trace import open_trace


def jobs(**columns: list[object]) -> pd.DataFrame:
    rows = len(next(iter(columns.values())))
    base = {"job_id": [f"j{i}" for i in range(rows)], "submit_s": [0.0] * rows}
    return pd.DataFrame({**base, "duration_s": [10.0] * rows, **columns})


def starts(table: pd.DataFrame, cluster: Cluster, **policies: str) -> list[float]:
    return list(simulate(Workload.from_jobs(table), cluster, **policies).start_s)


def test_fifo_starts_in_order_of_submission():
    table = jobs(submit_s=[2.0, 0.0, 1.0], request_gpus=[1.0, 1.0, 1.0])
    assert starts(table, Cluster.parse("1x1")) == [0.0, 10.0, 20.0]


def test_shortest_lets_short_jobs_pass():
    table = jobs(duration_s=[5.0, 9.0, 1.0], submit_s=[0.0, 1.0, 2.0], request_gpus=[1.0] * 3)
    assert starts(table, Cluster.parse("1x1"), order="shortest") == [0.0, 6.0, 5.0]


def test_any_column_orders_the_queue_and_missing_values_go_last():
    table = jobs(request_gpus=[1.0] * 3, attr_guess=[3.0, np.nan, 1.0])
    assert starts(table, Cluster.parse("1x1"), order="column:attr_guess") == [10.0, 20.0, 0.0]


def test_a_strict_queue_waits_behind_its_head_and_a_skipping_one_does_not():
    table = jobs(request_gpus=[1.0, 2.0, 1.0], submit_s=[0.0, 1.0, 2.0])
    assert starts(table, Cluster.parse("1x2"), queue="skip") == [0.0, 12.0, 2.0]
    assert starts(table, Cluster.parse("1x2"), queue="strict") == [0.0, 10.0, 20.0]


def test_backfilling_fills_holes_without_delaying_the_first_job():
    table = jobs(
        request_gpus=[1.0, 2.0, 1.0, 1.0],
        submit_s=[0.0, 1.0, 2.0, 3.0],
        duration_s=[10.0, 10.0, 20.0, 7.0],
        time_limit_s=[10.0, 10.0, 20.0, 7.0],
    )
    assert starts(table, Cluster.parse("1x2"), queue="easy") == [0.0, 10.0, 20.0, 3.0]
    assert starts(table, Cluster.parse("1x2"), queue="skip")[1] > 10.0
    with pytest.raises(InputError, match="--estimate"):
        starts(table.drop(columns="time_limit_s"), Cluster.parse("1x2"), queue="easy")


@pytest.mark.data
@pytest.mark.parametrize(
    ("log", "nodes", "strict_s", "easy_s"),
    [("kth-sp2-1996", 100, 547_552, 8_675), ("alcf-theta-2022", 4_360, 172_283, 46_436)],
)
def test_batch_logs_wait_as_long_as_independent_replays_say(
    shared_data, log, nodes, strict_s, easy_s
):
    """One scalar pool, means in seconds; the other replays differ in how they cut overruns."""
    table = open_trace(shared_data / "hpc-swf" / f"{log}.part1.swf.gz", source="swf").jobs
    table = table.assign(
        request_cpu_cores=table["instances"] * table["request_cpu_cores"], instances=1.0
    )
    pool = Cluster.from_nodes(pd.DataFrame({"node_id": ["pool"], "cpu_cores": [float(nodes)]}))
    workload = Workload.from_jobs(table)
    for queue, expected in (("strict", strict_s), ("easy", easy_s)):
        waits = simulate(workload, pool, queue=queue).wait_s
        assert waits.mean() == pytest.approx(expected, rel=0.01), queue


def test_fractions_share_a_gpu_but_never_straddle_two():
    table = jobs(request_gpus=[0.6, 0.6, 0.6])
    assert starts(table, Cluster.parse("1x2")) == [0.0, 0.0, 10.0]


def test_a_gang_starts_with_all_its_instances():
    table = jobs(request_gpus=[1.0, 1.0], instances=[1.0, 4.0], submit_s=[0.0, 1.0])
    assert starts(table, Cluster.parse("2x2")) == [0.0, 10.0]


def test_a_job_wider_than_a_node_runs_as_a_gang_and_that_is_said():
    schedule = simulate(Workload.from_jobs(jobs(request_gpus=[16.0])), Cluster.parse("2x8"))
    assert "gangs over several nodes" in schedule.notes[0]
    assert sorted(schedule.attempts.node) == [0, 1]


def test_gpu_types_and_features_are_kept():
    nodes = pd.DataFrame(
        {
            "node_id": ["a", "b"],
            "gpus": [1.0, 1.0],
            "gpu_type": ["T4", "V100"],
            "features": ["ib", "ib|big"],
        }
    )
    table = jobs(request_gpus=[1.0] * 3, gpu_type=["V100", "T4|V100", None])
    table["attr_features"] = [None, "big", None]
    schedule = simulate(Workload.from_jobs(table), Cluster.from_nodes(nodes), place="first_fit")
    assert list(schedule.table["node_id"]) == ["b", "b", "a"]
    assert list(schedule.start_s) == [0.0, 10.0, 0.0]


def test_cpu_and_memory_limit_where_they_are_known():
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [8.0], "cpu_cores": [4.0], "memory_gib": [8.0]})
    cluster = Cluster.from_nodes(nodes)
    assert starts(jobs(request_cpu_cores=[3.0, 3.0]), cluster) == [0.0, 10.0]
    assert starts(jobs(request_memory_gib=[5.0, 5.0]), cluster) == [0.0, 10.0]


def test_metrics_follow_from_the_schedule():
    table = jobs(request_gpus=[1.0, 1.0], duration_s=[10.0, 30.0])
    metrics = simulate(Workload.from_jobs(table), Cluster.parse("1x1")).metrics()
    assert metrics["mean_wait_s"] == 5.0
    assert metrics["makespan_s"] == 40.0
    assert metrics["gpu_utilisation_pct"] == pytest.approx(100.0)


def test_jobs_without_times_are_left_out_and_counted():
    table = jobs(duration_s=[10.0, np.nan], request_gpus=[1.0, 1.0])
    workload = Workload.from_jobs(table)
    assert len(workload) == 1
    assert workload.left_out == {"no duration_s": 1}


@pytest.mark.parametrize(
    ("table", "cluster", "message"),
    [
        (jobs(request_gpus=[1.0], gpu_type=["H100"]), "1x1 T4", "1 of 1 jobs fit on no node"),
        (jobs(request_gpus=[1.0], instances=[9.0]), "2x4", "j0"),
        (jobs(request_gpus=[1.0]).drop(columns="duration_s"), "1x1", "no run times"),
        (jobs(request_gpus=[1.0]).drop(columns="submit_s"), "1x1", "no arrivals"),
    ],
)
def test_what_cannot_be_replayed_is_refused_before_the_start(table, cluster, message):
    with pytest.raises(InputError, match=message):
        simulate(Workload.from_jobs(table), Cluster.parse(cluster))


def test_unknown_words_are_answered_with_the_nearest_known_one():
    workload = Workload.from_jobs(jobs(request_gpus=[1.0]))
    cluster = Cluster.parse("1x1")
    with pytest.raises(ParameterError, match="Did you mean 'shortest'"):
        simulate(workload, cluster, order="shortst")
    with pytest.raises(ParameterError, match="Did you mean 'best_fit'"):
        simulate(workload, cluster, place="bestfit")
    with pytest.raises(ParameterError, match="skip"):
        simulate(workload, cluster, queue="lifo")
    with pytest.raises(InputError, match="no column nothing"):
        simulate(workload, cluster, order="column:nothing")


@pytest.mark.parametrize("text", ["", "8", "0x4", "4xGPU"])
def test_a_cluster_that_is_not_understood_is_refused(text):
    with pytest.raises(ParameterError):
        Cluster.parse(text)


def test_nodes_without_anything_are_refused():
    nodes = pd.DataFrame({"node_id": ["a"], "gpus": [0.0], "cpu_cores": [0.0]})
    with pytest.raises(InputError, match="node a has neither"):
        Cluster.from_nodes(nodes)


def test_random_placement_follows_its_seed():
    table = jobs(request_gpus=[1.0] * 40)
    cluster = Cluster.parse("20x2")
    placed = [
        tuple(simulate(Workload.from_jobs(table), cluster, place="random", seed=s).attempts.node)
        for s in (1, 1, 2)
    ]
    assert placed[0] == placed[1] != placed[2]


def test_consolidate_spans_the_fewest_nodes():
    table = jobs(request_gpus=[1.0, 1.0], instances=[1.0, 4.0])
    schedule = simulate(Workload.from_jobs(table), Cluster.parse("3x4"), place="consolidate")
    assert len(set(schedule.attempts.node[1:])) == 1


def test_fragmentation_descent_works_on_any_workload():
    table = jobs(request_gpus=[0.5, 0.5, 2.0, 2.0])
    schedule = simulate(Workload.from_jobs(table), Cluster.parse("3x2"), place="fgd")
    assert (schedule.wait_s == 0).all()
    assert schedule.attempts.gpu_bits[0] == schedule.attempts.gpu_bits[1]


def test_policies_are_found_by_the_names_of_their_files():
    assert {"fifo", "shortest", "smallest_gpu_time"} <= set(order_policies())
    assert {"first_fit", "best_fit", "worst_fit"} <= set(place_policies())


def test_a_cluster_that_names_no_gpu_type_takes_any_and_says_so() -> None:
    typed = jobs(request_gpus=[1.0, 1.0], gpu_type=["V100", "T4|P100"])
    schedule = simulate(Workload.from_jobs(typed), Cluster.parse("1x2"))
    assert np.isfinite(schedule.start_s).all()
    assert any("GPU types that jobs ask for are ignored" in note for note in schedule.notes)


def test_a_refusal_names_the_gpu_types_that_are_missing() -> None:
    typed = jobs(request_gpus=[1.0, 1.0], gpu_type=["H100|A100", "T4"])
    with pytest.raises(InputError, match="GPU type A100 and H100; the cluster has T4"):
        simulate(Workload.from_jobs(typed), Cluster.parse("1x2 T4"))


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([1.0], r"returned shape \(1,\) for 2 jobs"),
        ([np.nan, 1.0], "returned NaN for 1 of them, job a first"),
        (["x", "y"], "it returned list: could not convert"),
        (None, r"returned shape \(\) for 2 jobs"),
    ],
)
def test_an_order_in_plain_python_that_returns_nonsense_is_refused(returned, said):
    jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 60.0})
    workload = Workload.from_jobs(jobs.assign(request_gpus=1.0))

    def mine(workload):
        return returned

    with pytest.raises(ParameterError, match=f"order mine: .*{said}"):
        simulate(workload, Cluster.parse("1x1"), order=mine)
    with pytest.raises(ParameterError, match="order is 3, but is a name"):
        simulate(workload, Cluster.parse("1x1"), order=3)
