"""All finished jobs a watcher has seen, and what it knew of each."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from prophase.array_types import Floats, Ints
from prophase.profile.predict.point_and_range import STRATA
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.submit_columns import arrivals, ends, job_ids, outcomes


@dataclass(eq=False)
class Records:
    """One row per finished job, of the history and watched, in the order they counted."""

    target: str
    #: how many of the rows are history
    history_jobs: int
    #: profile by use, and the one its metadata suggested; -1 for none
    labels: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    expected: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: log of outcome over prediction, whether it lay outside its range, and whether metadata like
    #: these were never seen together; NaN if unknown
    error: Floats = field(default_factory=lambda: np.empty(0))
    outside: Floats = field(default_factory=lambda: np.empty(0))
    new: Floats = field(default_factory=lambda: np.empty(0))
    #: over names and outcomes of all rows
    data_hash: str = ""
    parts: list[pd.DataFrame] = field(default_factory=list)

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
    digest.update("\n".join(job_ids(jobs)).encode())
    digest.update(outcomes(jobs, target).tobytes())
    return digest.hexdigest()


#: jobs by which the memory is older that errors are judged by; a short history has no memory
#: that old
LAG = 300


@dataclass(frozen=True)
class Answered:
    """Predictions of finished jobs; without a clock there is no older memory."""

    said: pd.DataFrame
    lagged: pd.DataFrame | None

    def judged(self, jobs: pd.DataFrame, predictor: Predictor) -> PredictionErrors:
        """Compare with what became of the jobs."""
        floor = predictor.floor_
        outcome = outcomes(jobs, predictor.target_)
        value, low, high = (
            self.said[name].to_numpy(np.float64) for name in ("value", "low", "high")
        )
        miss = np.log(np.maximum(outcome, floor)) - np.log(np.maximum(value, floor))
        ranged = (outcome >= 0) & ~np.isnan(low) & ~np.isnan(high)
        return PredictionErrors(
            np.where(outcome >= 0, miss, np.nan),
            np.where(ranged, (outcome < low) | (outcome > high), np.nan),
            np.asarray(self.said["stratum"] != STRATA[0], dtype=np.float64),
        )


@dataclass(frozen=True)
class PredictionErrors:
    """What became of predictions; NaN where the outcome or the prediction is unknown."""

    #: log of outcome over prediction
    error: Floats
    #: 1 if the outcome lay outside its range
    outside: Floats
    #: 1 if no past job matches all fields
    new: Floats

    def behind(self, jobs: int) -> PredictionErrors:
        """Put jobs in front of which nothing is known."""
        unknown = np.full(jobs, np.nan)
        return PredictionErrors(
            *(np.concatenate([unknown, one]) for one in (self.error, self.outside, self.new))
        )


class Clock:
    """Knows when the latest outcomes became known."""

    def __init__(self, jobs: pd.DataFrame) -> None:
        self.lag = min(LAG, len(jobs) // 2)
        self.ended = np.maximum.accumulate(ends(jobs))[-self.lag :]

    def answer(self, predictor: Predictor, jobs: pd.DataFrame) -> Answered:
        """Return what a predictor said of jobs before they ran, and let it learn from them."""
        arrival, end = arrivals(jobs), ends(jobs)
        if not (np.isfinite(arrival).all() and np.isfinite(end).all()):
            said = predictor.predict(jobs)
            predictor.update(jobs)
            return Answered(said, None)
        # every outcome later than a submission is hidden from its answer
        predictor.update(jobs)
        ended = np.maximum.accumulate(np.concatenate([self.ended, end]))
        before = ended[: len(jobs)]
        self.ended = ended[-self.lag :]
        lagged = predictor.predict(jobs, as_of=np.minimum(arrival, before))
        return Answered(predictor.predict(jobs, as_of="submit"), lagged)
