from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ParameterError
from prophase.sim import Cluster, Workload
from prophase.sim.why.explanation import why
from prophase.trace import open_trace
from prophase.trace.prices import Prices


def busy_workload(jobs: int = 1500, days: int = 4) -> Workload:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "job_id": [f"j{i}" for i in range(jobs)],
            "submit_s": np.sort(rng.uniform(0, 86400 * days, jobs)).round(),
            "duration_s": rng.lognormal(8, 1.2, jobs).round(),
            "request_gpus": rng.choice([0.5, 1, 2, 4, 8], jobs),
            "request_cpu_cores": rng.choice([2.0, 8.0, 24.0], jobs),
            "instances": rng.choice([1, 1, 1, 2], jobs),
            "gpu_type": rng.choice(["", "", "V100", "T4"], jobs),
            "user": rng.choice(["ann", "bob", "cleo"], jobs),
        }
    )
    return Workload.from_jobs(table)


CLUSTER = Cluster.parse("6x8 V100 64c, 6x8 T4 32c")


@pytest.mark.parametrize("queue", ["skip", "strict"])
def test_all_shares_add_up_to_a_hundred_percent_and_all_seconds_to_the_wait(queue):
    answer = why(busy_workload(), CLUSTER, queue=queue, by="user", remove=False)
    for column in ("share_pct", "at_root_pct"):
        assert sum(round(100 * row[column]) for row in answer.causes) == 10_000
    for row in answer.classes:
        assert sum(v for k, v in row.items() if k.endswith("_pct")) == pytest.approx(100)
    table = answer.jobs
    by_cause = table[[f"{row['cause']}_s" for row in answer.causes]].sum(axis=1)
    np.testing.assert_allclose(by_cause, table["wait_s"])
    np.testing.assert_allclose(table["wait_s"], answer.split.schedule.wait_s)
    assert {row["cause"] for row in answer.causes if row["wait_h"]} >= {
        "capacity", "gpu_type", "gang", "cpu_memory", "fragmentation",
    }  # fmt: skip


def test_what_a_strict_queue_costs_is_booked_on_users_and_on_what_their_jobs_lack():
    answer = why(busy_workload(), CLUSTER, queue="strict", remove=False)
    order = next(row for row in answer.causes if row["cause"] == "order")
    blamed = sum(row["short_jobs_lost_h"] + row["long_jobs_lost_h"] for row in answer.held_up_by)
    assert blamed == pytest.approx(order["wait_h"])
    assert sum(row["lost_h"] for row in answer.held_up) == pytest.approx(order["wait_h"])
    assert {row["user"] for row in answer.held_up_by} == {"ann", "bob", "cleo"}
    lost = sum(row["others_lost_h"] for row in answer.held_up_for)
    assert lost == pytest.approx(order["wait_h"])
    assert next(row for row in answer.causes if row["cause"] == "order")["at_root_pct"] == 0


def test_skipping_has_no_order_waits_and_effects_stand_beside_shares():
    answer = why(busy_workload(600, 2), CLUSTER)
    rows = answer.side_by_side()
    assert [row["cause"] for row in rows].count("order") == 2
    assert next(row["share_pct"] for row in rows if row["cause"] == "order") == 0
    doubled = next(row for row in rows if row["cause"] == "capacity")
    assert doubled["change_pct"] < -50
    document = answer.to_dict()
    assert len(document["without"]) == 8
    assert any("Quotas: none" in note for note in document["notes"])


def test_what_removal_saves_comes_first_and_costs_order_it_when_prices_are_known():
    workload = busy_workload(600, 2)
    rows = why(workload, CLUSTER, queue="strict").removals()
    saved = [row["saves_pct"] for row in rows]
    assert saved == sorted(saved, reverse=True)
    assert "cost_per_day" not in rows[0]
    answer = why(workload, CLUSTER, queue="strict", prices=Prices({"V100": 2.0, "T4": 1.0}))
    takes = [row["takes"] for row in answer.removals() if row["saves_pct"] > 0]
    assert takes == sorted(takes, key=["setting", "purchase", "ideal"].index)
    bought = next(row for row in answer.removals() if row["takes"] == "purchase")
    assert bought["cost_per_day"] == 24 * (48 * 2.0 + 48 * 1.0)
    days = np.ptp(workload.submit_s) / 86400
    hours = bought["saves_pct"] / 100 * answer.split.fine_s.sum() / 3600
    assert bought["saved_h_per_cost"] == pytest.approx(hours / days / bought["cost_per_day"])
    assert "saves" in answer.summary()[1]
    assert answer.to_dict()["removals"] == answer.removals()


def test_idle_hours_add_up_to_what_was_owned_and_not_used():
    workload = busy_workload()
    answer = why(workload, CLUSTER, remove=False, clock="unix")
    plan = answer.split.schedule
    last = workload.submit_s.max()
    gpus = workload.asks[:, 2] * workload.asks[:, 3] / 1000 * workload.asks[:, 6]
    used = (gpus * np.clip(np.minimum(plan.end_s, last) - plan.start_s, 0, None)).sum() / 3600
    owned = sum(row["owned_gpu_h"] for row in answer.idle)
    assert owned == pytest.approx(96 * (last - workload.submit_s.min()) / 3600)
    assert sum(row["idle_gpu_h"] for row in answer.idle) == pytest.approx(owned - used)
    hours = pd.DataFrame(answer.idle_hours)
    assert hours["idle_gpu_h"].sum() == pytest.approx(owned - used)
    assert len(hours) == 2 * 168
    assert hours["mean_idle_gpus"].max() <= 48
    stranded = pd.DataFrame(answer.stranded)
    assert (stranded["stranded_pct_of_idle"] <= 100).all()
    by_job = stranded.groupby("gpu_job")["lacks_cpu_gpu_h"].sum()
    assert by_job["typical"] >= by_job["smallest"]


def test_quotas_of_the_replay_show_as_a_cause():
    table = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 10.0})
    table["user"], table["request_gpus"] = "ann", 1.0
    answer = why(
        Workload.from_jobs(table),
        Cluster.parse("2x1"),
        quotas=pd.DataFrame({"user": ["ann"], "gpus": [1.0]}),
    )
    shares = {row["cause"]: row["share_pct"] for row in answer.causes}
    assert shares["quota"] == 100
    freed = next(effect for effect in answer.effects if effect.cause == "quota")
    assert freed.change_pct.value == pytest.approx(-100)


def test_a_cluster_on_which_nobody_waits_has_nothing_to_explain():
    table = pd.DataFrame({"job_id": ["a"], "submit_s": 0.0, "duration_s": 10.0})
    answer = why(Workload.from_jobs(table.assign(request_gpus=1.0)), Cluster.parse("1x1"))
    assert answer.effects == []
    assert any("Nobody waits" in note for note in answer.notes)
    with pytest.raises(ParameterError, match="positive"):
        why(Workload.from_jobs(table), Cluster.parse("1x1"), short_below_s=0)


@pytest.mark.data
def test_on_philly_the_order_share_of_a_strict_queue_is_what_skipping_saves(shared_data):
    jobs = open_trace(shared_data / "philly" / "philly.csv.gz", source="philly").jobs
    first = jobs.sort_values("submit_s").head(20_000)
    answer = why(Workload.from_jobs(first), Cluster.parse("75x8"), queue="strict")
    share = next(row["share_pct"] for row in answer.causes if row["cause"] == "order")
    saved = next(e.change_pct.value for e in answer.effects if e.change == "whoever fits may start")
    assert share == pytest.approx(70.8, abs=0.1)
    assert saved == pytest.approx(-71.9, abs=0.1)


@pytest.mark.data
def test_a_log_without_gpus_waits_for_cores(shared_data):
    log = shared_data / "hpc-swf" / "kth-sp2-1996.part1.swf.gz"
    answer = why(Workload.from_jobs(open_trace(log).jobs), Cluster.parse("100x0 1c"), remove=False)
    capacity = next(row for row in answer.causes if row["cause"] == "capacity")
    assert capacity["share_pct"] == 100
    assert capacity["resources_h"]["cpu"] == pytest.approx(capacity["wait_h"])
    assert answer.idle == []
