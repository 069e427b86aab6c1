"""All finished jobs a watcher has seen, and what it knew of each."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.profile.drift.predictions_made import PredictionErrors
from prophase.profile.predict.submit_columns import ends, outcomes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Records:
    """One row per finished job, of the history and watched, in the order they counted.

    Attributes
    ----------
    labels, expected : array
        Profile by use, and the one its metadata suggested; -1 for none.
    error, outside, new : array
        Log of outcome over prediction, whether it lay outside its range, and whether metadata
        like these were never seen as a whole; NaN if unknown.
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
        self.new: Floats = np.empty(0)
        self.data_hash = ""
        self.parts: list[pd.DataFrame] = []

    def __len__(self) -> int:
        return len(self.labels)

    def add(
        self, jobs: pd.DataFrame, labels: Ints, expected: Ints, judged: PredictionErrors
    ) -> None:
        """Take further jobs, their profiles, and what became of their predictions."""
        self.parts.append(jobs)
        self.labels = np.concatenate([self.labels, labels])
        self.expected = np.concatenate([self.expected, expected])
        self.error = np.concatenate([self.error, judged.error])
        self.outside = np.concatenate([self.outside, judged.outside])
        self.new = np.concatenate([self.new, judged.new])
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

    def quality(
        self, first: int = 0, last: int | None = None, *, profile: int | None = None
    ) -> dict[str, float]:
        """Return how good predictions of some rows were, of all or of a profile expected.

        Returns
        -------
        dict
            ``jobs`` with an outcome, ``error`` (median absolute log), share ``outside`` the
            range and share of ``new`` metadata.
        """
        rows = np.arange(len(self))[max(first, 0) : last]
        if profile is not None:
            rows = rows[self.expected[rows] == profile]
        return {
            "jobs": int(np.isfinite(self.error[rows]).sum()),
            "error": _known(np.median, np.abs(self.error[rows])),
            "outside": _known(np.mean, self.outside[rows]),
            "new": _known(np.mean, self.new[rows]),
        }


def _known(what: Callable[[Floats], Any], values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(what(known)) if len(known) else 0.0


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
