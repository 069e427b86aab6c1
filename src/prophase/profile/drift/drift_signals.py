"""What is watched of a finished job: how wrong, how often outside the range, how new.

Raw scores say it in numbers that can be kept; a :class:`Scale` turns them into scores with
mean 0 and spread 1 on a reference. Errors go through their ranks among jobs that were as well
known, so one wild job weighs no more than a rather bad one, and a day with more unknown jobs
is no change of the known ones.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from prophase.array_types import Bools, Floats
from prophase.errors import InputError, MissingColumnError
from prophase.plural import counted
from prophase.profile.predict.point_and_range import STRATA
from prophase.profile.predict.submit_columns import outcomes

Keys = NDArray[np.uint64]

#: signal -> what it means when it rises
SIGNALS = {
    "longer": "outcomes lie above their predictions",
    "shorter": "outcomes lie below their predictions",
    "error": "predictions are farther off, on either side",
    "calibration": "more outcomes lie outside their 90 % range",
    "novelty": "for more jobs no past job matches all fields",
    "misfit": "more jobs use resources unlike the profile of their kind",
}
#: of these a share is watched, of the others a size
SHARES = ("calibration", "novelty", "misfit")
#: jobs of the stream among which jobs of the same key count as one burst
BURST = 200
#: a share below this is taken as this: the first strange job of a quiet stream is no change
_LEAST_SHARE = 0.02
_MOST_SCORE = 2.5
#: jobs of a stratum that make a rank among them mean something
_FEWEST_RANKED = 30
#: echo of jobs of the same key, if too few of them are known
_USUAL_ECHO = 0.3


@dataclass(frozen=True)
class RawScores:
    """One row per job; NaN where a job has no such value."""

    #: log of outcome over prediction
    miss: Floats
    #: place of the job's stratum in ``STRATA``
    stratum: Floats
    #: 1 if the outcome lies outside the range
    outside: Floats
    #: 1 if the metadata as a whole were never seen
    new: Floats
    #: 1 if the job's use is not that of the profile expected from its metadata
    misfit: Floats
    #: jobs of the same key among the last ones
    alike: Floats
    #: the key, for the echo inside a burst
    key: Keys

    def __len__(self) -> int:
        return len(self.miss)

    def of(self, signal: str) -> Floats:
        """Return the raw values of a signal."""
        return {
            "longer": self.miss,
            "shorter": -self.miss,
            "error": np.abs(self.miss),
            "calibration": self.outside,
            "novelty": self.new,
            "misfit": self.misfit,
        }[signal]

    def rows(self, chosen: NDArray[np.intp] | Bools | slice) -> RawScores:
        """Return some of the jobs."""
        return RawScores(*(getattr(self, part.name)[chosen] for part in fields(self)))

    def joined(self, other: RawScores) -> RawScores:
        """Return both, one after the other."""
        return RawScores(
            *(
                np.concatenate([getattr(self, part.name), getattr(other, part.name)])
                for part in fields(self)
            )
        )

    @classmethod
    def none(cls) -> RawScores:
        """Return scores of no job."""
        empty = np.empty(0)
        return cls(empty, empty, empty, empty, empty, empty, np.empty(0, np.uint64))


def raw_scores(
    jobs: pd.DataFrame,
    predictions: pd.DataFrame,
    *,
    target: str,
    key: Keys,
    alike: Floats,
    lagged: pd.DataFrame | None = None,
    misfit: Floats | None = None,
) -> RawScores:
    """Compare finished jobs with what was predicted for them.

    Parameters
    ----------
    predictions : DataFrame
        ``value``, ``low``, ``high`` and ``stratum``, as ``Predictor.predict`` returns them, a
        row per job.
    key, alike : array
        Key of each job, and how many jobs before it shared it, see :func:`alike_before`.
    lagged : DataFrame, optional
        Predictions from a somewhat older memory, by which errors are judged: a predictor that
        follows a change at once would hide it.
    misfit : array, optional
        1 where a job's use is not that of its expected profile; NaN where none is expected.
    """
    older = predictions if lagged is None else lagged
    _refuse_others(jobs, predictions)
    _refuse_others(jobs, older)
    outcome = outcomes(jobs, target)
    # what happens within a second counts as one second, as for the predictor
    floor = 1.0 if target.endswith("_s") else np.finfo(np.float64).tiny
    log_outcome = np.log(np.maximum(np.where(outcome >= 0, outcome, np.nan), floor))
    value, low, high = (
        np.log(np.maximum(predictions[name].to_numpy(np.float64, na_value=np.nan), floor))
        for name in ("value", "low", "high")
    )
    before = np.log(np.maximum(older["value"].to_numpy(np.float64, na_value=np.nan), floor))
    miss = log_outcome - before
    # a range that is not known yet is infinite, and holds everything
    ranged = np.isfinite(log_outcome - value) & ~np.isnan(low) & ~np.isnan(high)
    slack = 1e-9
    outside = np.where(ranged, (log_outcome < low - slack) | (log_outcome > high + slack), np.nan)
    new = _place(predictions)
    none = np.full(len(jobs), np.nan)
    return RawScores(
        np.where(np.isfinite(miss), miss, np.nan),
        _place(older),
        outside.astype(np.float64),
        np.where(np.isnan(new), np.nan, new > 0).astype(np.float64),
        none if misfit is None else misfit.astype(np.float64),
        alike,
        key,
    )


def _place(predictions: pd.DataFrame) -> Floats:
    stratum = predictions["stratum"].to_numpy(dtype=object)
    found = np.select([stratum == kind for kind in STRATA], np.arange(len(STRATA)), np.nan)
    return found.astype(np.float64)


def _refuse_others(jobs: pd.DataFrame, predictions: pd.DataFrame) -> None:
    lacking = [name for name in ("value", "low", "high", "stratum") if name not in predictions]
    if lacking:
        raise MissingColumnError(
            f"the predictions have no {', '.join(lacking)}. Pass what Predictor.predict returns."
        )
    if len(predictions) != len(jobs):
        raise InputError(
            f"there are {counted(len(predictions), 'prediction')} for {counted(len(jobs), 'job')}. "
            "Give one each, in the same order."
        )


@dataclass(frozen=True)
class Scale:
    """Turns raw values of a signal into scores, by the values of a reference."""

    signal: str
    #: sorted different values and the weight below each and in all; by stratum, the last of all
    references: tuple[tuple[Floats, Floats], ...]

    @classmethod
    def learn(cls, signal: str, raw: RawScores, weight: Floats) -> Scale:
        """Learn from a reference, each job with its weight."""
        values = raw.of(signal)
        known = np.isfinite(values)
        if signal in SHARES:
            return cls(signal, (_distribution(values[known], weight[known]),))
        parts = [known & (raw.stratum == place) for place in range(len(STRATA))]
        # a stratum with few jobs is ranked among all
        parts = [part if weight[part].sum() >= _FEWEST_RANKED else known for part in parts]
        parts.append(known)
        return cls(signal, tuple(_distribution(values[part], weight[part]) for part in parts))

    @property
    def share(self) -> float:
        """Weighted mean of the reference, for signals that are shares."""
        values, below = self.references[0]
        held = float((values * np.diff(below)).sum())
        return float(np.clip((held + 1.0) / (float(below[-1]) + 2.0), _LEAST_SHARE, 0.98))

    @property
    def jump(self) -> float:
        """Score of a single event, for signals that are shares; 0 for the others."""
        if self.signal not in SHARES:
            return 0.0
        return float(np.sqrt((1.0 - self.share) / self.share))

    def __call__(self, raw: RawScores) -> Floats:
        """Return scores, 0 where a job has no value."""
        values = raw.of(self.signal)
        known = np.isfinite(values)
        filled = np.where(known, values, 0.0)
        if self.signal in SHARES:
            scores = (filled - self.share) / np.sqrt(self.share * (1.0 - self.share))
            return np.where(known, scores, 0.0)
        place = np.where(np.isnan(raw.stratum), len(STRATA), raw.stratum)
        rank = np.full(len(raw), 0.5)
        for number, (different, below) in enumerate(self.references):
            rows = place == number
            low = below[np.searchsorted(different, filled[rows], side="left")]
            high = below[np.searchsorted(different, filled[rows], side="right")]
            rank[rows] = (0.5 * (low + high) + 0.5) / (below[-1] + 1.0)
        return np.where(known, np.clip(special.ndtri(rank), -_MOST_SCORE, _MOST_SCORE), 0.0)


def alike_before(keys: Keys, burst: int = BURST) -> Floats:
    """Return how many of the ``burst`` jobs before each one share its key.

    Examples
    --------
    >>> alike_before(np.array([7, 7, 9, 7], dtype=np.uint64))
    array([0., 1., 0., 2.])
    """
    found = np.zeros(len(keys))
    order = np.argsort(keys, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        found[rows] = np.arange(len(rows)) - np.searchsorted(rows, rows - burst, side="left")
    return found


def echo(scores: Floats, keys: Keys, burst: int = BURST) -> float:
    """Return how far jobs of one key share their luck: 0 not at all, 1 altogether.

    Examples
    --------
    >>> luck = np.repeat(np.random.default_rng(0).normal(0.0, 1.0, 100), 5)
    >>> echo(luck, np.repeat(np.arange(100, dtype=np.uint64), 5)) > 0.9
    True
    """
    order = np.argsort(keys, kind="stable")
    before, after = order[:-1], order[1:]
    pairs = (keys[before] == keys[after]) & (after - before <= burst)
    spread = float(np.mean(scores**2)) if len(scores) else 0.0
    if pairs.sum() < _FEWEST_RANKED or spread == 0.0:
        return _USUAL_ECHO
    shared = float(np.mean(scores[before[pairs]] * scores[after[pairs]]))
    return float(np.clip(shared / spread, 0.0, 1.0))


def _distribution(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    different, place = np.unique(values, return_inverse=True)
    held = np.bincount(place, weight, minlength=len(different))
    return different, np.concatenate([[0.0], np.cumsum(held)])
