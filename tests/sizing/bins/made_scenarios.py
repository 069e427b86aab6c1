from __future__ import annotations

import numpy as np
import pandas as pd


def scenario_jobs() -> pd.DataFrame:
    """Runs of a pipeline: train needs memory by its articles, load always the same."""
    rng = np.random.default_rng(0)
    articles = rng.choice([10.0, 100.0, 1000.0], 200, p=[0.6, 0.3, 0.1])
    shared = {"parent_id": [f"r{n}" for n in range(200)], "submit_s": np.arange(200) * 3600.0,
              "attr_articles": articles, "duration_s": 600.0, "status": "completed",
              "request_cpu_cores": 4.0, "cpu_peak_cores": 0.9}  # fmt: skip
    train = pd.DataFrame({**shared, "task": "train", "request_memory_gib": 64.0})
    train["memory_peak_gib"] = 1.0 + articles / 50 + rng.random(200)
    load = pd.DataFrame({**shared, "task": "load", "request_memory_gib": 16.0})
    load["memory_peak_gib"] = 1.0 + 0.01 * rng.random(200)
    noisy = pd.DataFrame({**shared, "task": "noise", "request_memory_gib": 16.0})
    noisy["memory_peak_gib"] = 1.0 + rng.random(200)
    few = train.iloc[:5].assign(task="rare")
    table = pd.concat([train, load, noisy, few], ignore_index=True)
    return table.assign(job_id=[f"j{n}" for n in range(len(table))])
