from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.sim import Workload
from prophase.sim.measures.job_classes import groups_of


def workload(**columns: object) -> Workload:
    rows = max(len(c) for c in columns.values() if isinstance(c, list | np.ndarray))
    base = {"job_id": [str(n) for n in range(rows)], "submit_s": 0.0, "duration_s": 60.0}
    return Workload.from_jobs(pd.DataFrame({**base, **columns}))


def test_every_job_is_in_one_class():
    jobs = workload(user=["a", "b", None, "a"], request_gpus=[0.0, 1.0, 2.0, 0.5])
    for by in ("user", "class", "gpus", "request_gpus"):
        rows = np.concatenate([found for _, found in groups_of(jobs, by).rows()])
        assert sorted(rows) == [0, 1, 2, 3]


def test_the_largest_class_of_a_column_comes_first_and_missing_values_have_one():
    assert groups_of(workload(user=["b", None, "a", "a"]), "user").names == ("a", "b", "not stated")


def test_many_sizes_become_powers_of_two():
    sizes = np.arange(1.0, 15.0)
    found = groups_of(workload(request_gpus=sizes), "gpus")
    assert found.names == (
        "up to 1",
        "over 1 up to 2",
        "over 2 up to 4",
        "over 4 up to 8",
        "over 8 up to 16",
    )
    assert np.bincount(found.code).tolist() == [1, 1, 2, 4, 6]


def test_gangs_count_with_all_their_gpus():
    found = groups_of(workload(request_gpus=[0.5, 1.0], instances=[4.0, 2.0]), "gpus")
    assert found.names == ("2",)
