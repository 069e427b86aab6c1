"""A small history that every part of a study can use: two tasks that ask for too much."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def pipeline_jobs() -> pd.DataFrame:
    """Eleven days of two tasks: align uses 2 of 16 GiB, sort 7 of 8; each runs ten minutes."""
    rng = np.random.default_rng(3)
    at = np.arange(240)
    align = at % 2 == 0
    peak = np.where(align, 2.0, 7.2) + rng.uniform(0, 0.2, len(at))
    return pd.DataFrame(
        {
            "job_id": [f"j{i:03d}" for i in at],
            "task": np.where(align, "align", "sort"),
            "user": np.where(align, "ann", "bob"),
            "submit_s": 4000.0 * at,
            "start_s": 4000.0 * at,
            "end_s": 4000.0 * at + 600.0,
            "duration_s": 600.0,
            "status": "completed",
            "instances": 1.0,
            "request_cpu_cores": 2.0,
            "request_memory_gib": np.where(align, 16.0, 8.0),
            "request_gpus": 0.0,
            "memory_peak_gib": peak,
        }
    )
