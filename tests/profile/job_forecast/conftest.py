from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.profile.predict.job_model import JobModel, learn


@pytest.fixture(scope="session")
def history() -> pd.DataFrame:
    """Jobs of two users whose GPU types differ in speed; a few on a rare type."""
    draw = np.random.default_rng(0)
    count = 600
    user = draw.choice(["ann", "bob"], count)
    kind = draw.choice(["T4", "V100", "P100"], count, p=[0.5, 0.48, 0.02])
    typical = np.where(user == "ann", 600.0, 6000.0) * np.where(kind == "V100", 0.4, 1.0)
    run = typical * np.exp(draw.normal(0, 0.15, count))
    submit = np.arange(count) * 50.0
    return pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in range(count)],
            "user": user,
            "workload": draw.choice(["bert", "gnn"], count),
            "request_memory_gib": 64.0,
            "request_gpus": draw.choice([1.0, 2.0], count),
            "submit_s": submit,
            "end_s": submit + run,
            "duration_s": run,
            "memory_peak_gib": np.where(user == "ann", 4.0, 12.0) * draw.uniform(0.9, 1.1, count),
            "after_gpu_type": kind,
        }
    )


@pytest.fixture(scope="session")
def model(history: pd.DataFrame) -> JobModel:
    return learn(history)
