"""Runs of a light and a heavy task, to be assessed."""

from __future__ import annotations

import numpy as np
import pandas as pd


def light_and_heavy(count: int) -> pd.DataFrame:
    """Return ``count`` runs of the task load, then as many of the task train."""
    rng = np.random.default_rng(0)
    rows = np.exp(rng.normal(2, 1.5, count))
    heavy = pd.DataFrame(
        {
            "task": "train",
            "attr_rows": rows,
            "request_memory_gib": 350.0,
            "memory_peak_gib": np.minimum(1 + rows, 170.0),
            "request_cpu_cores": 6.0,
            "cpu_peak_cores": 0.9,
            "duration_s": 600.0,
        }
    )
    light = heavy.assign(task="load", request_memory_gib=20.0, memory_peak_gib=1.5)
    return pd.concat([light, heavy], ignore_index=True)
