from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.profile.predict.history import History, steadily_recorded


def late_gpus(rows: int = 400) -> pd.DataFrame:
    """Jobs whose GPUs are noted in the last quarter only."""
    gpus = np.where(np.arange(rows) < 0.75 * rows, np.nan, np.arange(rows) % 2)
    return pd.DataFrame(
        {
            "user": ["ann", "bob"] * (rows // 2),
            "request_cpu_cores": [1.0, 2.0, 4.0, 8.0] * (rows // 4),
            "request_gpus": gpus,
            "submit_s": np.arange(rows, dtype=float),
            "duration_s": 60.0,
        }
    )


def test_a_column_recorded_late_is_no_part_of_a_key_but_stays_a_number() -> None:
    history = History(late_gpus())
    assert "request_gpus" not in history.columns
    assert "request_cpu_cores" in history.columns
    assert "request_gpus" in history.number_columns


def test_a_column_that_some_jobs_leave_out_all_along_stays_part_of_a_key() -> None:
    jobs = late_gpus().sample(frac=1.0, random_state=0)
    assert "request_gpus" in steadily_recorded(jobs, np.arange(len(jobs), dtype=float))


def test_a_short_history_cannot_tell_when_recording_began() -> None:
    jobs = late_gpus(80)
    assert "request_gpus" in steadily_recorded(jobs, np.arange(80.0))
