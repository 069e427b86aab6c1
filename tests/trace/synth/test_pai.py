from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.trace.schema import known_at_submit
from prophase.trace.synth.pai import START_S, make_pai
from prophase.trace.synth.pai_world import PROFILES
from prophase.trace.trace_tables import Trace

DAY_S = 86400


@pytest.fixture(scope="module")
def trace() -> Trace:
    return make_pai(jobs=20_000, random_state=1)


def test_every_column_that_real_pai_fills_is_there(trace: Trace) -> None:
    from prophase.trace.readers.pai2020 import READER

    assert set(READER.fills["jobs"]) <= set(trace.jobs.columns) | {"source"}
    assert set(READER.fills["nodes"]) <= set(trace.nodes.columns)
    assert not [c for c in trace.jobs if trace.jobs[c].isna().all()]


def test_times_add_up_and_stay_inside_the_trace(trace: Trace) -> None:
    jobs = trace.jobs
    ended = jobs[jobs["end_s"].notna()]
    assert (ended["end_s"] - ended["start_s"] == ended["duration_s"]).all()
    assert (ended["start_s"] - ended["submit_s"] == ended["wait_s"]).all()
    assert (ended["duration_s"] >= 1).all()
    assert jobs["submit_s"].between(START_S, START_S + 28 * DAY_S).all()
    assert jobs["end_s"].max() <= START_S + 28 * DAY_S
    assert jobs["submit_s"].is_monotonic_increasing


def test_what_has_not_ended_is_censored_not_guessed(trace: Trace) -> None:
    jobs = trace.jobs
    running, pending = jobs["status"] == "running", jobs["status"] == "pending"
    assert running.any()
    assert pending.any()
    assert jobs.loc[running | pending, ["end_s", "duration_s"]].isna().all(axis=None)
    assert jobs.loc[running, "start_s"].notna().all()
    assert jobs.loc[pending, ["start_s", "wait_s", "cpu_mean_cores"]].isna().all(axis=None)


def test_tasks_of_one_job_are_submitted_and_started_together(trace: Trace) -> None:
    per_job = trace.jobs.groupby("parent_id")[["submit_s", "start_s"]].nunique()
    assert (per_job <= 1).all(axis=None)
    roles = trace.jobs.groupby("parent_id")["task"].agg(set)
    assert {"ps", "worker"} in roles.tolist()
    assert all("worker" in tasks for tasks in roles if "ps" in tasks)


def test_a_group_has_one_owner_one_workload_and_one_plan_per_task(trace: Trace) -> None:
    same = ["user", "workload", "request_cpu_cores", "request_memory_gib", "instances"]
    assert (trace.jobs.groupby(["group", "task"])[same].nunique() == 1).all(axis=None)


def test_few_users_submit_most_jobs(trace: Trace) -> None:
    shares = trace.jobs["user"].value_counts(normalize=True)
    assert shares.head(len(shares) // 10).sum() > 0.4
    assert shares.iloc[0] < 0.3


def test_arrivals_follow_the_day_and_the_week() -> None:
    jobs = make_pai(jobs=20_000, burst_sd=0.2).jobs
    since = jobs["submit_s"] - START_S
    hour, weekday = since // 3600 % 24, since // DAY_S % 7
    by_hour = hour.value_counts()
    assert by_hour[[10, 11, 14, 15, 16]].mean() > 1.8 * by_hour[[3, 4, 5]].mean()
    by_day = weekday.value_counts()
    assert by_day[[0, 1, 2, 3, 4]].mean() > 1.2 * by_day[[5, 6]].mean()


def test_arrivals_come_in_bursts() -> None:
    def dispersion(burst_sd: float) -> float:
        jobs = make_pai(jobs=10_000, burst_sd=burst_sd).jobs
        per_hour = np.bincount(((jobs["submit_s"] - START_S) // 3600).astype(int))
        return float(per_hour.var() / per_hour.mean())

    assert dispersion(0.9) > 1.5 * dispersion(0.0) > 1.5


def test_each_row_has_one_profile_that_fits_its_workload_and_role(trace: Trace) -> None:
    truth = trace.truth["truth_profiles"]
    assert truth["job_id"].equals(trace.jobs["job_id"])
    assert truth["profile"].between(0, len(PROFILES) - 1).all()
    by_name = {profile.name: profile for profile in PROFILES}
    pairs = set(zip(truth["profile_name"], trace.jobs["workload"], strict=True))
    assert all(workload in by_name[name].workloads for name, workload in pairs)


def test_no_submit_time_column_gives_the_profile_away() -> None:
    """Within one workload and role, plans must not tell profiles apart; groups mostly do."""
    trace = make_pai(jobs=60_000, random_state=4)
    rows = trace.jobs.assign(profile=trace.truth["truth_profiles"]["profile"])
    rows = rows[(rows["workload"] == "ctr") & (rows["task"] == "tensorflow")]
    per_group = rows.drop_duplicates("group")

    def gained_by(column: str, rows: pd.DataFrame) -> float:
        """How much more often the profile is guessed right with the column than without."""
        table = pd.crosstab(rows[column].astype(str), rows["profile"])
        guessed = table.max(axis=1).sum() - table.sum().max()
        return float(guessed / len(rows))

    plans = {"request_cpu_cores", "request_memory_gib", "request_gpus", "gpu_type", "instances"}
    assert plans <= set(known_at_submit(rows.columns))
    assert all(gained_by(column, per_group) < 0.02 for column in plans)
    assert gained_by("group", rows) > 0.4
    assert 0.15 < gained_by("user", per_group) < 0.5


def test_use_gathers_around_the_profile(trace: Trace) -> None:
    known = trace.jobs["cpu_mean_cores"].notna()
    log_use = np.log(trace.jobs.loc[known, ["cpu_mean_cores", "memory_mean_gib", "read_bytes"]])
    profile = trace.truth["truth_profiles"].loc[known, "profile"]
    within = log_use.groupby(profile).transform(lambda column: column - column.mean()).var()
    assert (within < 0.25 * log_use.var()).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_inventory_is_kept_busy_as_asked(seed: int) -> None:
    days = 28
    trace = make_pai(jobs=20_000, days=days, utilisation=0.7, random_state=seed)
    jobs = trace.jobs
    end = jobs["end_s"].fillna(START_S + days * DAY_S)
    held = (end - jobs["start_s"]).fillna(0) * jobs["instances"]
    busy = float((held * jobs["request_gpus"].fillna(0)).sum()) / (days * DAY_S)
    assert 0.55 < busy / trace.nodes["gpus"].sum() < 0.8
    cores = float((held * jobs["request_cpu_cores"]).sum()) / (days * DAY_S)
    assert cores / trace.nodes["cpu_cores"].sum() < 0.95


def test_every_task_fits_the_inventory(trace: Trace) -> None:
    jobs, nodes = trace.jobs, trace.nodes
    for kind, mine in jobs.groupby(jobs["gpu_type"].fillna("any")):
        fitting = nodes if kind == "any" else nodes[nodes["gpu_type"] == kind]
        assert mine["request_gpus"].max() <= fitting["gpus"].max()
        assert mine["request_cpu_cores"].max() <= fitting["cpu_cores"].max()
        assert (mine["request_gpus"] * mine["instances"]).max() <= fitting["gpus"].sum()


def test_a_fraction_of_a_gpu_is_below_one_and_more_are_whole(trace: Trace) -> None:
    gpus = trace.jobs["request_gpus"].dropna()
    assert ((gpus < 1) | (gpus % 1 == 0)).all()


def test_small_traces_work_too() -> None:
    trace = make_pai(jobs=20, days=1)
    assert trace.jobs["parent_id"].nunique() == 20
    assert trace.nodes["gpu_type"].nunique() == 5
