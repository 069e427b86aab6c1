"""Ranges with the promised coverage: conformal, per stratum, recent misses count more.

A method's own range is widened on each side by the margin that 95 % of the outcomes of the
same stratum would have needed. What was needed is kept apart for answers from fresh history
and for answers long after the last known outcome. Real traces drift, so a range is hardly
ever narrowed: a calm past is no promise, and narrowing on it cost up to 15 points of coverage.
Of the recent past and the longer one, the less calm counts. Margins are shares of a range's
own width; none reaches farther than the farthest miss that was seen, since a share that
suits narrow ranges would carry wide ones out of this world.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Bools, Floats, Ints
from prophase.profile.predict.point_and_range import STRATA, PointAndRange

#: share of outcomes on each side of the range
TAIL = 0.05
#: how many misses count, and after how many a miss counts half: over the long and the short run
_LONG = (6_000, 3_000.0)
_SHORT = (1_500, 500.0)
#: by which share of its width a range may be narrowed, with fresh outcomes and without
_NARROWING = {False: -0.1, True: 0.0}
#: fewer misses than this do not make a stratum of their own
_FEWEST = 40
#: jobs that share one margin when going through time
_STRIDE = 100
_NONE = np.empty(0)


class Calibrator:
    """Remembers by how much outcomes missed the ranges, and widens new ranges by it."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, bool], _Misses] = {}

    def learn(
        self,
        answer: PointAndRange,
        values: Floats,
        stratum: NDArray[np.str_],
        stale: Bools,
        end: Floats,
    ) -> None:
        """Remember how far outcomes lay outside their ranges, known from ``end`` on."""
        width = _width(answer)
        below, above = (answer.low - values) / width, (values - answer.high) / width
        valid = np.isfinite(below) & np.isfinite(above)
        for late in (False, True):
            of_regime = valid & (stale == late)
            for kind in ("", *STRATA):
                chosen = of_regime & (stratum == kind) if kind else of_regime
                if chosen.any():
                    misses = self._groups.setdefault((kind, late), _Misses())
                    misses.add(end[chosen], below[chosen], above[chosen], width[chosen])

    def widen(
        self,
        answer: PointAndRange,
        stratum: NDArray[np.str_],
        stale: Bools,
        as_of: Floats,
    ) -> tuple[Floats, Floats]:
        """Return the calibrated ends of the ranges; infinite where nothing is known."""
        low, high = answer.low.copy(), answer.high.copy()
        width = _width(answer)
        for late in (False, True):
            for kind in STRATA:
                rows = np.flatnonzero((stratum == kind) & (stale == late))
                rows = rows[np.argsort(as_of[rows], kind="stable")]
                for first in range(0, len(rows), _STRIDE):
                    part = rows[first : first + _STRIDE]
                    below, above = self._margins(kind, late, float(as_of[part[0]]))
                    farthest = self._farthest(float(as_of[part[0]]))
                    low[part] -= np.minimum(below * width[part], farthest)
                    high[part] += np.minimum(above * width[part], farthest)
        return np.minimum(low, answer.point), np.maximum(high, answer.point)

    def _farthest(self, as_of: float) -> float:
        """Return, in logarithms, by how much an outcome has ever missed its range."""
        every = (
            self._groups[group] for group in (("", False), ("", True)) if group in self._groups
        )
        return max((misses.farthest(as_of) for misses in every), default=np.inf)

    def _margins(self, kind: str, late: bool, as_of: float) -> tuple[float, float]:
        """Return the margins of the stratum; what is less known gets at least those of all."""
        below, above = self._of_regime(kind, late, as_of)
        if kind != "seen" and not late:
            # its jobs differ from one another: those of long ago count as much as fresh ones
            old = self._of_regime(kind, True, as_of)
            below, above = max(below, old[0]), max(above, old[1])
        return below, above

    def _of_regime(self, kind: str, late: bool, as_of: float) -> tuple[float, float]:
        own, whole = (self._known(group, late, as_of) for group in (kind, ""))
        if own is None or whole is None:
            found = own or whole or self._known("", not late, as_of, 1) or (np.inf, np.inf)
        elif kind == "seen":
            found = own
        else:
            found = max(own[0], whole[0]), max(own[1], whole[1])
        return max(found[0], _NARROWING[late]), max(found[1], _NARROWING[late])

    def _known(
        self, kind: str, late: bool, as_of: float, fewest: int = _FEWEST
    ) -> tuple[float, float] | None:
        misses = self._groups.get((kind, late))
        held = misses.before(as_of) if misses is not None else 0
        return misses.margins(held, late) if misses is not None and held >= fewest else None


class _Misses:
    """Misses on both sides, in the order in which they became known."""

    def __init__(self) -> None:
        self._end = np.empty(0)
        self._below = np.empty(0)
        self._above = np.empty(0)
        #: the farthest miss so far, in logarithms
        self._farthest = np.empty(0)
        self._found: dict[tuple[int, bool], tuple[float, float]] = {}

    def add(self, end: Floats, below: Floats, above: Floats, width: Floats) -> None:
        self._found = {}
        reach = np.concatenate([self._farthest, np.maximum(below, above) * width])
        ends = np.concatenate([self._end, end])
        order = np.argsort(ends, kind="stable")
        self._end = ends[order]
        self._below = np.concatenate([self._below, below])[order]
        self._above = np.concatenate([self._above, above])[order]
        self._farthest = np.maximum.accumulate(reach[order])

    def before(self, as_of: float) -> int:
        return int(np.searchsorted(self._end, as_of, side="left"))

    def farthest(self, as_of: float) -> float:
        held = self.before(as_of)
        return max(float(self._farthest[held - 1]), 0.0) if held else np.inf

    def margins(self, held: int, late: bool) -> tuple[float, float]:
        """Return what both sides needed; with fresh outcomes a recent change counts at once."""
        # many jobs are asked for between two outcomes
        if (held, late) not in self._found:
            self._found[held, late] = self._margins(held, late)
        return self._found[held, late]

    def _margins(self, held: int, late: bool) -> tuple[float, float]:
        runs = (_LONG,) if late else (_LONG, _SHORT)
        below, above = (
            max(
                conformal_quantile(misses[max(0, held - window) : held], half)
                for window, half in runs
            )
            for misses in (self._below, self._above)
        )
        return below, above


def conformal_quantile(
    scores: Floats, *half_lives: float, bounds: Floats = _NONE, jobs: Floats | Ints = _NONE
) -> float:
    """Return what the next score stays under 95 % of the time, those at the end counting more.

    With an endless half-life it is split conformal prediction's: the score of rank 0.95 (n + 1),
    rounded up; the largest where there are fewer than 19. Of several half-lives, the one that
    asks for most. Of some ``jobs`` only ``bounds`` are known, which their scores exceed, and of
    now: they make it Kaplan and Meier's estimate.

    Examples
    --------
    >>> scores = np.arange(1.0, 101.0)
    >>> conformal_quantile(scores, np.inf)
    96.0
    >>> conformal_quantile(scores, np.inf, bounds=np.array([80.0]), jobs=np.array([30]))
    99.0
    """
    age = np.arange(len(scores))[::-1]
    bounds, jobs = bounds[jobs > 0], jobs[jobs > 0]
    every = np.concatenate([scores, bounds])
    ended = np.arange(len(every)) < len(scores)
    # at the same place, an outcome comes before a bound
    order = np.argsort(every, kind="stable")
    found = -np.inf
    for half_life in half_lives:
        weight = np.concatenate([0.5 ** (age / half_life), jobs])[order]
        # the outcome to come counts as one more, of unknown size
        at_risk = np.cumsum(weight[::-1])[::-1] + 1.0
        beyond = np.cumprod(np.where(ended[order], 1.0 - weight / at_risk, 1.0))
        place = int((beyond > TAIL + 1e-12).sum())
        found = max(found, float(every[order][min(place, len(every) - 1)]))
    return found


def _width(answer: PointAndRange) -> Floats:
    """Return the scale of a miss: the width of the range, or one unit where it is a point."""
    width = answer.high - answer.low
    return np.where(width > 1e-9, np.maximum(width, 0.05), 1.0)
