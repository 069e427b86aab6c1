"""Limits per user, queue, group and array."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.rules.quotas import quota_matrix


def tasks(**columns) -> Workload:
    table = pd.DataFrame({"job_id": list("abcdef"), "submit_s": 0.0, "duration_s": 10.0})
    return Workload.from_jobs(table.assign(request_gpus=1.0, **columns))


@pytest.mark.parametrize("queue", ["skip", "strict", "easy"])
def test_so_many_tasks_of_an_array_run_at_a_time(queue):
    made = tasks(parent_id=["x", "x", "x", "x", "y", None], time_limit_s=10.0)
    limit = pd.DataFrame({"parent_id": ["*"], "jobs": [2]})
    schedule = simulate(made, Cluster.parse("1x8"), queue=queue, quotas=limit)
    # a task that its array holds back holds up nobody, and a job of no array has no limit
    assert schedule.start_s.tolist() == [0.0, 0.0, 10.0, 10.0, 0.0, 0.0]


def test_limits_of_a_group_and_of_one_array_hold_together():
    made = tasks(parent_id=["x"] * 4 + ["y"] * 2, group=["g"] * 3 + ["h"] * 3)
    limits = pd.DataFrame({"parent_id": ["x", None], "group": [None, "h"], "jobs": [3, 1]})
    schedule = simulate(made, Cluster.parse("1x8"), quotas=limits)
    assert schedule.start_s.tolist() == [0.0, 0.0, 0.0, 10.0, 0.0, 20.0]


def test_many_arrays_are_looked_up_at_once():
    made = tasks(parent_id=["x", "y", "x", "z", "y", "x"])
    rows, of_job = quota_matrix(pd.DataFrame({"parent_id": ["*"], "jobs": [1]}), made)
    assert len(rows) == 3
    assert np.unique(of_job[:, 3]).tolist() == [0, 1, 2]
    assert (of_job[:, :3] == -1).all()


def test_limits_of_nobody_are_refused():
    with pytest.raises(InputError, match="nobody named has a job in this trace"):
        quota_matrix(pd.DataFrame({"user": ["z"], "gpus": [1]}), tasks(user="u"))
    with pytest.raises(InputError, match="needs the column user or queue or group or parent_id"):
        quota_matrix(pd.DataFrame({"gpus": [1]}), tasks())
