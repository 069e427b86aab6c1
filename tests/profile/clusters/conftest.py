"""Jobs whose kinds are known, shared by the tests of profiles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


def jobs_of_three_kinds(each: int = 60, strays: int = 12, seed: int = 0) -> pd.DataFrame:
    """Three kinds of job that differ in usage and workload, and some strays; shuffled."""
    rng = np.random.default_rng(seed)
    kinds = [("bert", "worker", 8.0, 90.0), ("ctr", "ps", 2.0, 5.0), ("gnn", "worker", 16.0, 40.0)]
    parts = []
    for number, (workload, task, cores, busy) in enumerate(kinds):
        parts.append(
            pd.DataFrame(
                {
                    "workload": workload,
                    "task": task,
                    "kind": number,
                    "cpu_mean_cores": rng.normal(cores, 0.2, each),
                    "gpu_util_mean_pct": rng.normal(busy, 1.0, each).clip(0),
                    "memory_peak_gib": rng.normal(4 * cores, 0.5, each).clip(0),
                    "duration_s": rng.normal(600 * (number + 1), 20, each),
                }
            )
        )
    parts.append(
        pd.DataFrame(
            {
                "workload": "other",
                "task": "worker",
                "kind": -1,
                "cpu_mean_cores": rng.uniform(20, 90, strays),
                "gpu_util_mean_pct": rng.uniform(100, 400, strays),
                "memory_peak_gib": rng.uniform(100, 400, strays),
                "duration_s": rng.uniform(5000, 90000, strays),
            }
        )
    )
    jobs = pd.concat(parts, ignore_index=True).sample(frac=1, random_state=seed)
    jobs = jobs.reset_index(drop=True)
    jobs.insert(0, "job_id", [f"job-{number}" for number in range(len(jobs))])
    jobs["submit_s"] = np.arange(len(jobs)) * 3600.0
    jobs["start_s"] = jobs["submit_s"] + 10
    jobs["end_s"] = jobs["start_s"] + jobs["duration_s"]
    jobs["after_gpu_type"] = np.where(jobs.index % 3 == 0, "V100", "T4")
    return jobs


@pytest.fixture
def jobs() -> pd.DataFrame:
    return jobs_of_three_kinds()
