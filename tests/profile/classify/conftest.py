"""Jobs whose profile follows from their metadata, most of the time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.profile.classify.classifier import ProfileClassifier

#: profile -> users, workload and task of its jobs
KINDS = {
    3: (("ann", "bob"), "bert", "worker"),
    8: (("ann", "eve"), "ctr", "ps"),
    9: (("eve", "bob"), "gnn", "worker"),
}


def labelled_jobs(count: int = 240, *, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Jobs of three profiles; one in twelve is an outlier."""
    draw = np.random.default_rng(seed)
    labels = draw.choice([3, 3, 8, 9], count)
    rows = []
    for number, label in enumerate(labels.tolist()):
        users, workload, task = KINDS[label]
        rows.append(
            {
                "job_id": f"j{number}",
                "user": str(draw.choice(users)),
                "group": f"g{label}-{draw.integers(6)}",
                "workload": workload,
                "task": task,
                "request_gpus": float(label % 3),
                "submit_s": 60.0 * number,
                "start_s": 60.0 * number + 5,
                "end_s": 60.0 * number + 50,
                "duration_s": 45.0,
            }
        )
    return pd.DataFrame(rows), np.where(draw.random(count) < 1 / 12, -1, labels)


@pytest.fixture(scope="session")
def labelled() -> tuple[pd.DataFrame, np.ndarray]:
    return labelled_jobs()


@pytest.fixture(scope="session")
def trained(labelled: tuple[pd.DataFrame, np.ndarray]) -> ProfileClassifier:
    jobs, labels = labelled
    return ProfileClassifier(unknown_below=0.5).fit(jobs, labels)
