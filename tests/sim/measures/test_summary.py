from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.attempts import FINISHED, NODE_LOST, OUT_OF_MEMORY, PREEMPTED
from prophase.sim.measures.capacity import bin_means
from prophase.sim.measures.job_classes import groups_of
from prophase.sim.measures.occupancy import Waiting
from prophase.sim.measures.state_curves import queue_curves
from prophase.sim.rules.node_availability import Absences

JOBS = {
    "submit_s": [0.0, 0.0, 100.0],
    "duration_s": [100.0, 100.0, 50.0],
    "request_gpus": [1.0, 1.0, 1.0],
    "user": ["ann", "bob", "ann"],
}
#: the first job is pushed out and later loses its node, the second runs out of memory once
ATTEMPTS = [
    (0, 0, 60, PREEMPTED, 10, 0),
    (1, 60, 80, OUT_OF_MEMORY, 20, 0),
    (1, 90, 190, FINISHED, 0, 0),
    (0, 200, 230, NODE_LOST, 5, 0),
    (0, 240, 275, FINISHED, 10, 0),
    (2, 275, 325, FINISHED, 0, 0),
]


@pytest.fixture
def eventful(by_hand):
    return by_hand(JOBS, ATTEMPTS, "2x1 V100")


def test_several_attempts_of_a_job_count_together(eventful):
    found = eventful.metrics()
    assert eventful.start_s.tolist() == [0, 60, 275]
    assert eventful.run_s.tolist() == [125, 120, 50]
    assert eventful.wait_s.tolist() == [150, 70, 175]
    assert (found["attempts"], found["restarts"], found["unfinished_jobs"]) == (6, 3, 0)
    assert found["makespan_s"] == 325
    assert found["gpu_utilisation_pct"] == pytest.approx(100 * 295 / 650)


def test_every_hour_held_is_useful_lost_or_a_restart(eventful):
    hours = {name: 3600 * value for name, value in eventful.metrics()["gpu_hours"].items()}
    assert hours == pytest.approx(
        {
            "owned": 650, "allocated": 295, "useful": 250, "slowed": 0, "restarting": 10,
            "lost_preempted": 10, "lost_node": 5, "lost_memory": 20, "idle": 355,
        }
    )  # fmt: skip


def test_time_beyond_the_run_time_is_slowness_of_the_gpu(by_hand):
    schedule = by_hand(
        JOBS, [(0, 0, 130, 0, 0, 0), (1, 0, 80, 0, 0, 1), (2, 130, 180, 0, 0, 0)], "2x1"
    )
    hours = schedule.metrics()["gpu_hours"]
    assert 3600 * hours["slowed"] == pytest.approx(30)
    assert 3600 * hours["useful"] == pytest.approx(100 + 80 + 50)


def test_a_job_that_never_finished_did_nothing_useful(by_hand):
    schedule = by_hand(JOBS, [(0, 0, 60, OUT_OF_MEMORY, 60, 0), (1, 0, 100, PREEMPTED, 0, 0)])
    found = schedule.metrics()
    assert found["unfinished_jobs"] == 3
    assert found["gpu_hours"]["useful"] == 0
    # the third job never started: it has no wait, and does not spoil the mean
    assert np.isnan(schedule.wait_s[2])
    assert found["mean_wait_s"] == 0.0
    assert schedule.table["node_id"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize("by", ["user", "gpus", "class"])
def test_littles_law_holds_in_every_class(eventful, by):
    """The queue's length is taken from the intervals of waiting, not from the waits."""
    begin, end = eventful.edges[[0, -1]]
    waits = Waiting.of(eventful.occupancy, eventful.workload.submit_s)
    groups = groups_of(eventful.workload, by)
    for row, (_, jobs) in zip(eventful.metrics(by=by)["classes"], groups.rows(), strict=True):
        mine = np.isin(waits.job, jobs)
        length = bin_means(
            waits.from_s[mine], waits.to_s[mine], np.ones(mine.sum()), np.array([begin, end])
        ).item()
        rate = len(jobs) / (end - begin)
        assert length == pytest.approx(rate * row["mean_wait_s"], rel=1e-12)
        assert length == pytest.approx(row["mean_waiting_jobs"], rel=1e-12)


def test_littles_law_holds_on_a_long_busy_run():
    random = np.random.default_rng(3)
    jobs = pd.DataFrame(
        {
            "job_id": [str(n) for n in range(5000)],
            "submit_s": 1.6e9 + np.cumsum(random.exponential(1.0, 5000)),
            "duration_s": random.lognormal(2.0, 1.5, 5000),
            "request_gpus": random.choice([0.5, 1.0, 4.0], 5000),
        }
    )
    schedule = simulate(Workload.from_jobs(jobs), Cluster.parse("5x8"))
    waiting, gpus = queue_curves(schedule)
    found = schedule.metrics()
    assert found["mean_wait_s"] > 1
    assert waiting.mean() == pytest.approx(found["mean_waiting_jobs"], rel=1e-7)
    assert gpus.mean() == pytest.approx(found["mean_waiting_gpus"], rel=1e-7)


def test_what_is_not_stated_has_no_utilisation(by_hand):
    run = [(0, 0, 100, 0, 0, 0), (1, 0, 100, 0, 0, 0), (2, 100, 150, 0, 0, 0)]
    jobs = {**JOBS, "request_cpu_cores": 2.0, "request_memory_gib": 8.0}
    bare = by_hand(jobs, run, Cluster.uniform(1, 2)).metrics()
    assert bare["cpu_utilisation_pct"] is None
    assert bare["memory_utilisation_pct"] is None
    assert "owned" not in bare["core_hours"]
    stated = by_hand(jobs, run, Cluster.uniform(1, 2, cpu_cores=4.0, memory_gib=32.0)).metrics()
    assert stated["cpu_utilisation_pct"] == pytest.approx(100 * 250 * 2 / (150 * 4))
    assert stated["memory_utilisation_pct"] == pytest.approx(100 * 250 * 8 / (150 * 32))
    silent = by_hand(JOBS, run, Cluster.uniform(1, 2, cpu_cores=4.0)).metrics()
    assert silent["cpu_utilisation_pct"] is None


def test_a_log_without_gpus_is_measured_by_cores(by_hand):
    jobs = {
        "submit_s": [0.0, 0.0],
        "duration_s": 3600.0,
        "request_cpu_cores": 1.0,
        "user": list("ab"),
    }
    cluster = Cluster.uniform(1, 0, cpu_cores=1.0)
    found = by_hand(jobs, [(0, 0, 3600, 0, 0, 0), (1, 3600, 7200, 0, 0, 0)], cluster).metrics()
    assert found["gpu_utilisation_pct"] is None
    assert found["cpu_utilisation_pct"] == pytest.approx(100.0)
    assert found["core_hours"]["useful"] == pytest.approx(2.0)
    assert found["fairness"]["jain_hours"] == pytest.approx(1.0)
    assert "gpu_hours" not in found


def test_utilisation_is_told_by_gpu_type_and_leaves_out_absent_nodes(by_hand):
    jobs = {"submit_s": [0.0], "duration_s": [10.0], "request_gpus": [1.0]}
    away = Absences(np.array([1]), np.array([5.0]), np.array([np.inf]))
    schedule = by_hand(jobs, [(0, 0, 10, 0, 0, 1)], "1x1 T4, 1x2 V100", absences=away)
    found = schedule.metrics()
    assert found["gpu_utilisation_by_type_pct"] == pytest.approx({"T4": 0.0, "V100": 100.0})
    assert found["gpu_utilisation_pct"] == pytest.approx(100 * 10 / (10 + 10))


def test_costs_follow_type_amount_and_time(eventful):
    prices = {"gpu_hour": {"V100": 3600.0}, "currency": "EUR"}
    found = eventful.metrics(by="user", prices=prices)
    assert found["cost"] == pytest.approx(
        {
            "currency": "EUR",
            "allocated": 295,
            "allocated_per_job": 295 / 3,
            "lost": 45,
            "owned": 650,
        }
    )
    assert [row["cost"] for row in found["classes"]] == pytest.approx([175, 120])
    with pytest.raises(InputError, match="no GPU type 'V100'"):
        eventful.metrics(prices={"gpu_hour": {"T4": 1.0}})
    cores = eventful.metrics(prices={"gpu_hour": 1.0, "core_hour": 1.0})["cost"]
    assert cores["owned_without"].startswith("cores")


def test_users_are_compared(eventful):
    found = eventful.metrics()["fairness"]
    assert found["users"] == 2
    assert found["max_user_wait_s"] == pytest.approx((150 + 175) / 2)
    assert 0.5 < found["jain_slowdown"] < 1


def test_an_unknown_class_is_answered_with_the_nearest_column(eventful):
    with pytest.raises(ParameterError, match="Did you mean 'user'"):
        eventful.metrics(by="usr")


def test_jobs_without_length_have_no_makespan_and_no_warning(by_hand):
    jobs = {"submit_s": [5.0], "duration_s": [0.0], "request_gpus": [1.0]}
    found = by_hand(jobs, [(0, 5, 5, 0, 0, 0)]).metrics(by="class")
    assert found["makespan_s"] == 0.0
    assert found["gpu_utilisation_pct"] == 0.0


def test_a_trace_of_several_days_tells_how_sure_its_mean_wait_is(by_hand):
    days = 86400.0 * np.arange(3)
    jobs = {"submit_s": days, "duration_s": 1.0, "request_gpus": 1.0}
    run = [(n, day + n, day + n + 1, 0, 0, 0) for n, day in enumerate(days)]
    found = by_hand(jobs, run).metrics()
    assert 0 <= found["mean_wait_low_s"] <= found["mean_wait_s"] <= found["mean_wait_high_s"]
