from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sim.workload import Workload


def workload(**columns: object) -> Workload:
    jobs = pd.DataFrame(columns)
    return Workload.from_jobs(
        jobs.assign(job_id=[f"j{i}" for i in range(len(jobs))], submit_s=0.0, duration_s=1.0)
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("object", "text"),
        ("string", "text"),
        ("str", "text"),
        ("category", "category values"),
        ("datetime64[ns]", r"datetime64\[ns\] values"),
    ],
)
def test_a_queue_cannot_be_ordered_by_words(kind, said):
    values = pd.Series(["2020-01-01", "2021-01-01"]).astype(kind)
    with pytest.raises(InputError, match=f"column user holds {said}, .* by numbers"):
        workload(user=values).key("user")


def test_a_missing_number_comes_last():
    values = pd.array([3, None, 1], dtype="Int64")
    assert workload(guess=values).key("guess").tolist() == [3.0, np.inf, 1.0]
