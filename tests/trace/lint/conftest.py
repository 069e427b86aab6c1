"""A sound trace to break, made from scratch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from prophase.trace import check_jobs, check_nodes, check_usage

Tables = dict[str, pd.DataFrame]


def sound_jobs(rows: int = 2000, *, seed: int = 0, start_s: float = 1.6e9) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 40, rows)
    submit = start_s + np.cumsum(rng.exponential(300.0, rows))
    wait = rng.exponential(60.0, rows)
    duration = np.exp(rng.normal(6.0 + 0.05 * kind, 1.2)) + 1.0
    memory = np.exp(rng.normal(np.log(1.0 + kind / 4), 0.15))
    request = 2.0 ** np.ceil(np.log2(2.0 + kind / 2))
    cores = rng.choice([2.0, 4.0, 8.0], rows)
    return check_jobs(
        pd.DataFrame(
            {
                "job_id": [f"s{seed}-{i:05d}" for i in range(rows)],
                "parent_id": [f"s{seed}-run-{i // 2:04d}" for i in range(rows)],
                "user": [f"user{k % 7}" for k in kind],
                "group": [f"group{k}" for k in kind],
                "task": np.where(kind % 3 == 0, "ps", "worker"),
                "source": "made-up",
                "submit_s": submit,
                "start_s": submit + wait,
                "end_s": submit + wait + duration,
                "duration_s": duration,
                "wait_s": wait,
                "status": rng.choice(["completed", "failed"], rows, p=[0.9, 0.1]),
                "instances": 1.0,
                "request_cpu_cores": cores,
                "request_memory_gib": request,
                "request_gpus": rng.choice([0.5, 1.0, 2.0], rows),
                "cpu_mean_cores": cores * rng.uniform(0.1, 0.9, rows),
                "memory_mean_gib": memory * rng.uniform(0.4, 0.9, rows),
                "memory_peak_gib": np.minimum(memory, request),
                "gpu_util_mean_pct": rng.uniform(1.0, 45.0, rows),
                "attr_batch_size": rng.choice([16.0, 32.0, 64.0], rows),
                "after_node": [f"node{n}" for n in rng.integers(0, 20, rows)],
            }
        )
    )


def sound_usage(series: int = 20, samples: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return check_usage(
        pd.DataFrame(
            {
                "series_id": np.repeat([f"pod{i}" for i in range(series)], samples),
                "time_s": np.tile(1.6e9 + 30.0 * np.arange(samples), series)
                + rng.uniform(0, 5, series * samples),
                "cpu_util_pct": rng.uniform(3, 90, series * samples),
                "memory_gib": rng.uniform(1, 8, series * samples),
                "memory_limit_gib": np.repeat(rng.choice([16.0, 32.0], series), samples),
            }
        )
    )


def sound_nodes(nodes: int = 20) -> pd.DataFrame:
    return check_nodes(
        pd.DataFrame(
            {
                "node_id": [f"node{i}" for i in range(nodes)],
                "cpu_cores": 64.0,
                "memory_gib": 512.0,
                "gpus": [8.0 if i % 2 else 4.0 for i in range(nodes)],
            }
        )
    )


@pytest.fixture
def make_jobs() -> Callable[..., pd.DataFrame]:
    return sound_jobs


@pytest.fixture
def sound() -> Tables:
    return {"jobs": sound_jobs(), "usage": sound_usage(), "nodes": sound_nodes()}
