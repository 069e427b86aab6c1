from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sizing import Sizer


def _jobs(count: int = 30) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "job_id": [f"j{number}" for number in range(count)],
            "task": "align",
            "submit_s": 700.0 * np.arange(count),
            "duration_s": 600.0,
            "request_memory_gib": 16.0,
            "memory_peak_gib": 2.0 + 0.1 * (np.arange(count) % 5),
        }
    )


def test_a_fitted_sizer_gives_one_rising_ladder_per_job() -> None:
    ladders = Sizer(tries=4).fit(_jobs()).predict(_jobs(3))
    assert ladders.shape == (3, 4)
    assert (np.diff(ladders, axis=1) > 0).all()
    assert (ladders[:, 0] < 4).all()


def test_jobs_to_size_need_no_outcome() -> None:
    fresh = _jobs(2).drop(columns=["duration_s", "memory_peak_gib"])
    assert Sizer().fit(_jobs()).predict(fresh).shape == (2, 3)


def test_predicting_before_learning_is_refused() -> None:
    with pytest.raises(InputError, match="fit"):
        Sizer().predict(_jobs())
