from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.forecast.back_test import as_known, calibrate, measure_coverage
from prophase.sim.forecast.past_forecasts import LEAST_FORECASTS, settled
from prophase.sim.forecast.queue_state import QueueState, pinned, recorded_jobs
from prophase.sim.forecast.start_answer import StartQuestion, answer_start
from prophase.sim.forecast.start_forecast import (
    IntervalWidening,
    forecast_in_schedule,
    forecast_start,
)
from prophase.trace.trace_tables import Trace

CLUSTER = Cluster.uniform(4, 4)


def log_of(cluster: Cluster = CLUSTER, count: int = 1200, **policy: Any) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    jobs = pd.DataFrame({"job_id": [f"j{i}" for i in range(count)]})
    jobs["submit_s"] = np.cumsum(rng.exponential(320.0, count))
    jobs["duration_s"] = rng.exponential(2400.0, count)
    jobs["request_gpus"] = rng.choice([1.0, 2.0, 4.0], count)
    jobs["user"] = rng.choice(["ann", "bob"], count)
    return recorded_jobs(simulate(Workload.from_jobs(jobs), cluster, **policy))


@pytest.fixture(scope="module")
def log() -> pd.DataFrame:
    return log_of()


def waiting_at(log: pd.DataFrame, now_s: float) -> pd.DataFrame:
    return log[(log["submit_s"] <= now_s) & (log["start_s"] > now_s)]


def busy_instant(log: pd.DataFrame) -> float:
    starts = log["start_s"] - log["submit_s"]
    return float(log.loc[starts[600:].idxmax(), "submit_s"]) + 1.0


def test_with_run_times_that_never_vary_the_start_is_exact() -> None:
    jobs = pd.DataFrame({"job_id": [f"j{i}" for i in range(200)]})
    jobs["submit_s"], jobs["duration_s"], jobs["request_gpus"] = 100.0 * jobs.index, 150.0, 1.0
    log = recorded_jobs(simulate(Workload.from_jobs(jobs), Cluster.uniform(1, 1)))
    found = forecast_start(log, Cluster.uniform(1, 1), "j150", now_s=15_100.0, queue="strict")
    truth = float(log.loc[150, "start_s"]) - 15_100
    assert found.p10_s == pytest.approx(truth)
    assert found.p90_s == pytest.approx(truth)
    assert found.ahead == 150 - 100 - 1


def test_nothing_after_now_changes_a_forecast(log: pd.DataFrame) -> None:
    now_s = busy_instant(log)
    job = str(waiting_at(log, now_s)["job_id"].iloc[-1])
    whole = forecast_start(log, CLUSTER, job, now_s=now_s, draws=20)
    known = forecast_start(as_known(log, now_s), CLUSTER, job, now_s=now_s, draws=20)
    assert np.array_equal(whole.starts_s, known.starts_s)
    rng = np.random.default_rng(0)
    future = log["start_s"] > now_s
    other = log.assign(
        start_s=log["start_s"].where(~future, log["start_s"] + rng.uniform(0, 1e6, len(log))),
        end_s=log["end_s"].where(log["end_s"] <= now_s, 1e12),
    )
    assert np.array_equal(
        forecast_start(other, CLUSTER, job, now_s=now_s, draws=20).starts_s, whole.starts_s
    )


def test_a_new_job_is_the_last_in_the_queue(log: pd.DataFrame) -> None:
    now_s = busy_instant(log)
    found = forecast_start(
        log, CLUSTER, {"request_gpus": 4.0, "user": "ann"}, now_s=now_s, draws=20, queue="strict"
    )
    assert found.known
    assert found.ahead == len(waiting_at(log, now_s))
    last = str(waiting_at(log, now_s)["job_id"].iloc[-1])
    assert found.p50_s is not None
    earlier = forecast_start(log, CLUSTER, last, now_s=now_s, draws=20, queue="strict").p50_s
    assert earlier is not None
    assert found.p50_s >= earlier


@pytest.mark.parametrize(
    ("change", "cluster", "job", "reason"),
    [
        ({"keep": 40}, CLUSTER, {"request_gpus": 1.0}, "jobs have finished"),
        ({}, Cluster.uniform(1, 1), {"request_gpus": 1.0}, "not the one they run on"),
        ({}, CLUSTER, {"request_gpus": 4.0, "instances": 9.0}, "fits on no node"),
        ({}, Cluster.uniform(1, 4), {"request_gpus": 1.0}, "not the one they run on"),
    ],
)
def test_what_history_or_cluster_cannot_answer_is_not_answered(
    log: pd.DataFrame,
    change: dict[str, int],
    cluster: Cluster,
    job: dict[str, float],
    reason: str,
) -> None:
    some = log.iloc[: change.get("keep", len(log))].drop(columns="after_nodes")
    now_s = busy_instant(log) if not change else float(some["submit_s"].iloc[-1])
    found = forecast_start(some, cluster, job, now_s=now_s, draws=10)
    assert not found.known
    assert reason in found.reason
    assert found.p50_s is None


def test_a_log_whose_nodes_cannot_hold_what_runs_is_still_answered(log: pd.DataFrame) -> None:
    now_s = busy_instant(log)
    # every job of the log on one node, and one waiting job that no node could hold
    wrong = log.assign(after_nodes="node-0")
    row = waiting_at(log, now_s).index[0]
    wrong.loc[row, "instances"] = 99.0
    found = forecast_start(wrong, CLUSTER, {"request_gpus": 1.0}, now_s=now_s, draws=10)
    assert found.known
    assert "free room may be more scattered" in found.notes[0]
    assert f"left out: 1 waiting ({log.loc[row, 'job_id']})" in found.notes[1]


def test_a_running_job_without_room_is_left_aside_and_named(log: pd.DataFrame) -> None:
    now_s = busy_instant(log)
    running = log[(log["start_s"] <= now_s) & (log["end_s"] > now_s)]
    assert len(running) > 3
    wide = log.copy()
    wide.loc[running.index[0], "instances"] = 99.0
    found = forecast_start(wide, CLUSTER, {"request_gpus": 1.0}, now_s=now_s, draws=10)
    assert found.known
    assert any(f"({running['job_id'].iloc[0]}): they are taken" in note for note in found.notes)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ("j1", "has already ended, so"),
        ("j1199", "not submitted"),
        ("nobody", "not in the job table"),
    ],
)
def test_jobs_that_do_not_wait_are_refused(log: pd.DataFrame, job: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        forecast_start(log, CLUSTER, job, now_s=busy_instant(log))


def test_running_jobs_stand_where_they_stood(log: pd.DataFrame) -> None:
    state = QueueState.at(log, busy_instant(log))
    rows, cluster, tied = pinned(state.running, CLUSTER)
    assert tied == len(state.running) > 5
    schedule = simulate(Workload.from_jobs(rows.assign(submit_s=0.0, duration_s=9.0)), cluster)
    assert (schedule.start_s == 0).all()
    table = recorded_jobs(schedule).set_index("job_id")["after_nodes"]
    wanted = rows.set_index("job_id")["held_nodes"]
    assert (table == wanted.reindex(table.index)).all()


def test_a_gang_is_held_node_by_node() -> None:
    running = pd.DataFrame(
        {"job_id": ["a", "b", "c"], "request_gpus": [4.0, 8.0, 1.0], "instances": [2.0, 1.0, 1.0]}
    )
    running["held_nodes"] = ["node-0,node-1", "node-[2-3]", "elsewhere"]
    rows, cluster, tied = pinned(running, CLUSTER)
    assert tied == 2
    assert rows["job_id"].tolist() == ["a", "a", "b", "b", "c"]
    assert rows["request_gpus"].tolist() == [4.0, 4.0, 4.0, 4.0, 1.0]
    assert rows["instances"].tolist() == [1.0] * 5
    assert rows["attr_features"].tolist() == ["@0", "@1", "@2", "@3", ""]
    assert cluster.features == ("@0", "@1", "@2", "@3")


def test_a_schedule_forecasts_its_own_jobs() -> None:
    jobs = log_of(count=600).drop(columns=["start_s", "end_s", "after_nodes"])
    schedule = simulate(Workload.from_jobs(jobs), CLUSTER, queue="strict")
    log = recorded_jobs(schedule)
    now_s = float(log.loc[400, "submit_s"]) + 1.0
    job = str(waiting_at(log, now_s)["job_id"].iloc[0])
    found = forecast_in_schedule(schedule, job, now_s, draws=20)
    direct = forecast_start(log, CLUSTER, job, now_s=now_s, draws=20, queue="strict")
    assert np.array_equal(found.starts_s, direct.starts_s)


def test_intervals_hold_most_starts_where_jobs_are_alike(log: pd.DataFrame) -> None:
    found = measure_coverage(log, CLUSTER, instants=12, per_instant=2, draws=20)
    assert found.forecasts == 24
    assert found.covered.value > 0.6
    assert found.error_s < found.baseline_error_s
    assert found.median_error_s < found.alike_error_s
    assert 0.5 <= found.held.value <= 1.0
    assert found.covered.holds(found.covered.value)
    assert found.to_dict()["covered_low"] == found.covered.low


def test_calibrated_intervals_hold_what_they_promise(log: pd.DataFrame) -> None:
    first, last = log["submit_s"].min(), log["submit_s"].max()
    now_s = float(first + 0.6 * (last - first))
    past = calibrate(log, CLUSTER, now_s=now_s, instants=10, draws=20)
    found = measure_coverage(
        log, CLUSTER, since_s=now_s, instants=10, per_instant=2, draws=20, stretch=past.stretch
    )
    assert found.covered.value >= 0.7


def test_stretching_is_conformal() -> None:
    rng = np.random.default_rng(1)
    truth = rng.exponential(1000.0, 4000)
    low, high = np.full(4000, 400.0), np.full(4000, 700.0)
    learnt = IntervalWidening.learn(low[:2000], high[:2000], truth[:2000])
    ends = np.array([learnt.apply(*pair) for pair in zip(low, high, strict=True)])
    inside = (ends[2000:, 0] <= truth[2000:]) & (truth[2000:] <= ends[2000:, 1])
    assert inside.mean() == pytest.approx(0.8, abs=0.03)
    assert IntervalWidening().apply(5.0, 9.0) == (5.0, 9.0)
    cautious = IntervalWidening.learn(low[:2000], high[:2000], truth[:2000], independent=9)
    assert cautious.high > learnt.high


def test_instants_of_which_only_short_waits_are_known_teach_nothing():
    started = np.repeat([0.9, 0.3], [LEAST_FORECASTS, 30])
    assert settled(started).sum() == LEAST_FORECASTS
    assert settled(started[LEAST_FORECASTS:]).all()


def test_a_trace_without_starts_is_refused_before_anything_is_checked():
    jobs = pd.DataFrame({"job_id": ["a"], "submit_s": [0.0], "duration_s": [60.0]})
    trace = Trace({"jobs": jobs.assign(request_gpus=1.0)}, "csv", "")
    with pytest.raises(InputError, match=r"has no start_s.*prophase simulate"):
        answer_start(
            trace, Cluster.uniform(1, 1), StartQuestion({"request_gpus": 1.0}, None, 4, 4, 0), {},
            lambda step, percent: None,
        )  # fmt: skip


def test_an_instant_before_the_first_submission_is_refused():
    jobs = pd.DataFrame({"job_id": ["a"], "submit_s": [7200.0], "start_s": [7300.0]})
    trace = Trace({"jobs": jobs.assign(duration_s=60.0, request_gpus=1.0)}, "csv", "")
    with pytest.raises(InputError, match=r"no job had been submitted yet: .*day 1, 02:00.*--now"):
        answer_start(
            trace, Cluster.uniform(1, 1), StartQuestion({"request_gpus": 1.0}, 5.0, 4, 4, 0), {},
            lambda step, percent: None,
        )  # fmt: skip
