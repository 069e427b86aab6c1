"""All finished jobs a watcher has seen, and what it knew of each."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.profile.predict.submitted import ends, outcomes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Records:
    """One row per finished job, of the history and watched, in the order they counted.

    Attributes
    ----------
    labels, expected : array
        Profile by use, and the one its metadata suggested; -1 for none.
    error, outside : array
        Log of outcome over prediction, and whether it lay outside its range; NaN if unknown.
    history_jobs : int
        How many of the rows are history.
    data_hash : str
        Over names and outcomes of all rows.
    """

    def __init__(self, history: pd.DataFrame, target: str) -> None:
        self.target = target
        self.history_jobs = len(history)
        self.labels: Ints = np.empty(0, dtype=np.int64)
        self.expected: Ints = np.empty(0, dtype=np.int64)
        self.error: Floats = np.empty(0)
        self.outside: Floats = np.empty(0)
        self.data_hash = ""
        self.parts: list[pd.DataFrame] = []

    def __len__(self) -> int:
        return len(self.labels)

    def add(
        self, jobs: pd.DataFrame, labels: Ints, expected: Ints, error: Floats, outside: Floats
    ) -> None:
        """Take further jobs."""
        self.parts.append(jobs)
        self.labels = np.concatenate([self.labels, labels])
        self.expected = np.concatenate([self.expected, expected])
        self.error = np.concatenate([self.error, error])
        self.outside = np.concatenate([self.outside, outside])
        self.data_hash = _hashed(self.data_hash, jobs, self.target)

    def table(self) -> pd.DataFrame:
        """Return all jobs with all their columns."""
        if len(self.parts) > 1:
            self.parts = [pd.concat(self.parts, ignore_index=True)]
        return self.parts[0]

    def last_end_s(self) -> float | None:
        """Return when the last job ended, if the jobs have a clock."""
        last = float(ends(self.parts[-1])[-1])
        return last if math.isfinite(last) else None

    def quality(self, first: int, last: int | None = None) -> dict[str, float]:
        """Return median absolute log error and share outside the range over some rows."""
        error = self.error[max(first, 0) : last]
        outside = self.outside[max(first, 0) : last]
        error, outside = error[np.isfinite(error)], outside[np.isfinite(outside)]
        return {
            "jobs": len(error),
            "error": float(np.median(np.abs(error))) if len(error) else 0.0,
            "outside": float(outside.mean()) if len(outside) else 0.0,
        }


def in_time_order(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs in the order in which they ended.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "end_s": [9.0, 5.0]})
    >>> in_time_order(jobs)["job_id"].tolist()
    ['b', 'a']
    """
    order = np.argsort(ends(jobs), kind="stable")
    return jobs.iloc[order].reset_index(drop=True)


def _hashed(before: str, jobs: pd.DataFrame, target: str) -> str:
    digest = hashlib.sha256(before.encode())
    ids = jobs["job_id"] if "job_id" in jobs else pd.Series(jobs.index)
    digest.update("\n".join(ids.astype(str)).encode())
    digest.update(outcomes(jobs, target).tobytes())
    return digest.hexdigest()
