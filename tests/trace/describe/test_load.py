"""How full the cluster was."""

from __future__ import annotations

import pandas as pd
import pytest

from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.load import LoadOverTime, describe_load


def test_the_load_is_the_requests_of_running_jobs_over_what_nodes_have() -> None:
    jobs = pd.DataFrame(
        {
            "submit_s": [0.0, 0.0],
            "start_s": [0.0, 50.0],
            "duration_s": [100.0, 50.0],
            "request_gpus": [2.0, 2.0],
        }
    )
    found = describe_load(jobs, pd.DataFrame({"gpus": [8.0]}))
    assert isinstance(found, LoadOverTime)
    assert found.load_pct["gpus"][0] == pytest.approx(25.0)
    assert found.load_pct["gpus"][-1] == pytest.approx(50.0)
    assert found.most_running == pytest.approx(2.0)
    assert found.waiting[0] == pytest.approx(1.0)


def test_without_nodes_only_jobs_are_counted() -> None:
    found = describe_load(pd.DataFrame({"start_s": [0.0], "duration_s": [60.0]}), None)
    assert isinstance(found, LoadOverTime)
    assert found.load_pct == {}
    assert found.waiting == ()


@pytest.mark.parametrize("start", [None, 5.0])
def test_jobs_that_tell_no_time_have_no_load(start: float | None) -> None:
    jobs = pd.DataFrame({"start_s": [start], "duration_s": [None if start is None else 0.0]})
    assert isinstance(describe_load(jobs, None), NotComputable)
