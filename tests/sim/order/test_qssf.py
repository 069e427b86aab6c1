from __future__ import annotations

import pandas as pd

from prophase.sim import Workload
from prophase.sim.order.qssf import expected_duration_s, qssf


def workload(**columns) -> Workload:
    table = {
        "job_id": list("abcde"),
        "submit_s": [0.0, 200.0, 300.0, 300.0, 300.0],
        "duration_s": [100.0, 50.0, 7.0, 7.0, 7.0],
        "request_gpus": [1.0, 1.0, 1.0, 2.0, 4.0],
        "user": ["ann", "bob", "ann", "bob", "cyd"],
    }
    return Workload.from_jobs(pd.DataFrame({**table, **columns}))


def test_the_nearest_finished_jobs_tell_how_long_a_job_runs():
    jobs = workload()
    gpus = jobs.jobs["request_gpus"].to_numpy()
    # nothing known; all; own jobs alike; own jobs; all
    assert list(expected_duration_s(jobs, gpus)) == [0.0, 100.0, 100.0, 50.0, 75.0]
    assert list(qssf(jobs)) == [0.0, 100.0, 100.0, 100.0, 300.0]


def test_a_job_that_could_not_have_ended_yet_tells_nothing():
    jobs = workload(duration_s=[301.0, 101.0, 7.0, 7.0, 7.0])
    assert list(qssf(jobs)) == [0.0] * 5


def test_without_users_all_jobs_are_of_one():
    jobs = workload()
    nobody = Workload.from_jobs(jobs.jobs.drop(columns="user"))
    assert list(qssf(nobody)) == [0.0, 100.0, 75.0, 150.0, 300.0]
