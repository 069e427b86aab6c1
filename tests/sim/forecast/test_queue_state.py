from __future__ import annotations

import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sim.forecast.queue_state import QueueState


@pytest.fixture
def jobs() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "job_id": ["done", "runs", "waits", "later", "cancelled"],
            "submit_s": [0.0, 5.0, 8.0, 50.0, 1.0],
            "start_s": [1.0, 6.0, 30.0, 60.0, None],
            "end_s": [4.0, 40.0, 35.0, 70.0, 3.0],
            "duration_s": [3.0, 34.0, 5.0, 10.0, None],
            "wait_s": [1.0, 1.0, 22.0, 10.0, None],
            "after_nodes": ["a", "b", "c", "d", None],
        }
    )


def test_everybody_is_where_they_were_at_that_instant(jobs: pd.DataFrame) -> None:
    state = QueueState.at(jobs, 10.0)
    assert list(state.finished["job_id"]) == ["done"]
    assert list(state.running["job_id"]) == ["runs"]
    assert list(state.running["elapsed_s"]) == [4.0]
    assert list(state.running["held_nodes"]) == ["b"]
    assert list(state.waiting["job_id"]) == ["waits"]
    assert list(state.waits_s) == [1.0, 1.0]


def test_nothing_of_the_future_is_in_it(jobs: pd.DataFrame) -> None:
    state = QueueState.at(jobs, 10.0)
    hidden = {"start_s", "end_s", "duration_s", "wait_s", "after_nodes"}
    assert not hidden & set(state.waiting.columns)
    assert not {"end_s", "duration_s", "start_s"} & set(state.running.columns)


def test_a_table_without_starts_is_refused(jobs: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="who runs and who waits"):
        QueueState.at(jobs.drop(columns="start_s"), 10.0)
