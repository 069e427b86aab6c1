from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


def recurring_jobs(count: int, *, seed: int = 0, first: int = 0) -> pd.DataFrame:
    """Jobs of 8 users with 5 groups each; a group runs about as long every time."""
    draw = np.random.default_rng(seed)
    group = draw.integers(0, 40, count)
    typical = np.exp(np.random.default_rng(99).normal(6.0, 1.5, 40))
    submit = 1_600_000_000.0 + 600.0 * (first + np.arange(count))
    run = typical[group] * np.exp(draw.normal(0.0, 0.2, count))
    return pd.DataFrame(
        {
            "job_id": [f"j{first + n}" for n in range(count)],
            "user": [f"u{g // 5}" for g in group],
            "group": [f"g{g}" for g in group],
            "task": draw.choice(["worker", "ps"], count),
            "request_gpus": draw.choice([1.0, 2.0, 8.0], count),
            "submit_s": submit,
            "start_s": submit + 30.0,
            "end_s": submit + 30.0 + run,
            "duration_s": run,
            "memory_peak_gib": draw.uniform(1.0, 2.0, count) * (1 + group),
            "after_secret": run,
        }
    )


@pytest.fixture
def jobs() -> pd.DataFrame:
    return recurring_jobs(1_200)
