"""Series that go through levels one after the other."""

from __future__ import annotations

import numpy as np
import pandas as pd


def steps(
    levels: list[float], samples: int = 30, *, seed: int = 0, noise: float = 0.1
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = np.repeat(levels, samples)
    return np.column_stack([level, 2 - level / 4]) + rng.normal(0, 0.1, (len(level), 2))


def usage_of(series: dict[str, np.ndarray], step_s: float = 10.0) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "series_id": name,
                "time_s": step_s * np.arange(len(values)),
                "cpu_cores": values[:, 0],
                "memory_gib": values[:, 1],
            }
        )
        for name, values in series.items()
    ]
    return pd.concat(parts, ignore_index=True)
