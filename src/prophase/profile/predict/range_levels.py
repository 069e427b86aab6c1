"""Ranges with the promised coverage, read off a predicted distribution at calibrated levels.

A distribution says at which level each outcome lay. The ends of a range are the levels that
95 % of the outcomes of the same stratum stayed above and below: farther out than the nominal
levels where the distribution was too sure of itself, farther in where it was not sure enough.
Recent outcomes count more, the longer past is the second opinion, and of both the wider one
is taken; what is less known gets at least what all jobs get. Outcomes beyond everything that
was thought possible lie at levels below 0 and above 1, by how far.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Bools, Floats
from prophase.profile.predict.point_and_range import STRATA, PointAndRange

#: share of outcomes on each side of the range
_TAIL = 0.05
#: how many outcomes count, and after how many one counts half: over the short and the long run
_MOST = 6_000
_HALF_LIVES = (200.0, 2_000.0)
#: with fewer outcomes than this a stratum takes what all jobs have
_FEWEST = 60
#: a range is not narrowed to less than this share on each side, of few outcomes and of many
_NARROWEST, _MANY = (0.06, 0.09), 1_000
#: what is less known reaches this much farther: the future differs from the past
_FARTHER = {"seen": 0.0, "partly": 0.02, "new": 0.04}
_STALE_FARTHER = 0.01
#: jobs that share one range when going through time
_STRIDE = 40


class LevelCalibrator:
    """Remembers at which levels outcomes lay, and reads ranges off distributions accordingly."""

    def __init__(self, scale: float) -> None:
        #: how far beyond the distribution is a whole level
        self.scale = scale
        self._groups: dict[tuple[str, bool], _Levels] = {}

    def learn(
        self,
        answer: PointAndRange,
        values: Floats,
        stratum: NDArray[np.str_],
        stale: Bools,
        end: Floats,
    ) -> None:
        """Remember the levels of outcomes, known from ``end`` on."""
        steps = answer.distribution()
        low, high = levels_of(steps, values, self.scale)
        valid = np.isfinite(steps[:, 0])
        for late in (False, True):
            of_regime = valid & (stale == late)
            for kind in ("", *STRATA):
                chosen = of_regime & (stratum == kind) if kind else of_regime
                if chosen.any():
                    held = self._groups.setdefault((kind, late), _Levels())
                    held.add(end[chosen], low[chosen], high[chosen])

    def widen(
        self, answer: PointAndRange, stratum: NDArray[np.str_], stale: Bools, as_of: Floats
    ) -> tuple[Floats, Floats]:
        """Return the ends of the ranges; infinite where nothing is known."""
        steps = answer.distribution()
        low, high = np.full(len(as_of), -np.inf), np.full(len(as_of), np.inf)
        for late in (False, True):
            for kind in STRATA:
                rows = np.flatnonzero((stratum == kind) & (stale == late))
                rows = rows[np.argsort(as_of[rows], kind="stable")]
                for first in range(0, len(rows), _STRIDE):
                    part = rows[first : first + _STRIDE]
                    ends = self._ends(kind, late, float(as_of[part[0]]))
                    if ends is not None:
                        low[part] = at_level(steps[part], ends[0], self.scale)
                        high[part] = at_level(steps[part], ends[1], self.scale)
        return np.minimum(low, answer.point), np.maximum(high, answer.point)

    def _ends(self, kind: str, late: bool, as_of: float) -> tuple[float, float] | None:
        own, whole = (self._groups.get((group, late)) for group in (kind, ""))
        if whole is None or not whole.before(as_of):
            late = not late
            own, whole = (self._groups.get((group, late)) for group in (kind, ""))
        if whole is None or not whole.before(as_of):
            return None
        low, high = whole.ends(as_of, late)
        held = own.before(as_of) if own is not None else 0
        if own is not None and held >= _FEWEST:
            mine = own.ends(as_of, late)
            if kind == "seen":
                low, high = mine
            else:
                low, high = min(low, mine[0]), max(high, mine[1])
        narrowest = _NARROWEST[held >= _MANY]
        farther = max(_FARTHER[kind], _STALE_FARTHER if late else 0.0)
        return min(low, narrowest) - farther, max(high, 1 - narrowest) + farther


class _Levels:
    """Levels that both ends would have needed, in the order in which they became known."""

    def __init__(self) -> None:
        self._end, self._low, self._high = np.empty(0), np.empty(0), np.empty(0)
        self._found: dict[tuple[int, bool], tuple[float, float]] = {}

    def add(self, end: Floats, low: Floats, high: Floats) -> None:
        self._found = {}
        ends = np.concatenate([self._end, end])
        order = np.argsort(ends, kind="stable")
        self._end = ends[order]
        self._low = np.concatenate([self._low, low])[order]
        self._high = np.concatenate([self._high, high])[order]

    def before(self, as_of: float) -> int:
        return int(np.searchsorted(self._end, as_of, side="left"))

    def ends(self, as_of: float, late: bool) -> tuple[float, float]:
        held = self.before(as_of)
        if (held, late) not in self._found:
            first = max(0, held - _MOST)
            lives = (np.inf,) if late else _HALF_LIVES
            self._found[held, late] = (
                min(-_reached(-self._low[first:held], life) for life in lives),
                max(_reached(self._high[first:held], life) for life in lives),
            )
        return self._found[held, late]


def _reached(levels: Floats, half_life: float) -> float:
    """Return the level that 95 % of these stay under, those at the end counting more."""
    weight = 0.5 ** (np.arange(len(levels))[::-1] / half_life)
    order = np.argsort(levels, kind="stable")
    # the outcome to come counts as one more, of unknown size
    share = np.cumsum(weight[order]) / (weight.sum() + 1.0)
    place = int(np.searchsorted(share, 1 - _TAIL, side="left"))
    return float(levels[order][min(place, len(levels) - 1)])


def levels_of(steps: Floats, values: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return the highest level whose place is at most the value, and the lowest at least it.

    Examples
    --------
    >>> steps = np.array([[1.0, 2.0, 2.0, 4.0]])
    >>> [float(level[0]) for level in levels_of(steps, np.array([2.0]), 1.0)]
    [0.625, 0.375]
    """
    rows, count = np.arange(len(steps)), steps.shape[1]
    at_least = (steps < values[:, None]).sum(axis=1)
    beyond = (steps <= values[:, None]).sum(axis=1)
    found = []
    for place in (beyond, at_least):
        inner = np.clip(place, 1, count - 1)
        before, after = steps[rows, inner - 1], steps[rows, inner]
        step = np.where(after > before, after - before, 1.0)
        level = (inner - 0.5 + np.clip((values - before) / step, 0.0, 1.0)) / count
        below, above = (steps[:, 0] - values) / scale, (values - steps[:, -1]) / scale
        level = np.where(below > 0, -below, level)
        found.append(np.where(above > 0, 1 + above, level))
    return found[0], found[1]


def at_level(steps: Floats, level: float, scale: float) -> Floats:
    """Return the place of a level in each row of equally likely outcomes, in order of size."""
    if level < 0:
        return np.asarray(steps[:, 0] + level * scale)
    if level > 1:
        return np.asarray(steps[:, -1] + (level - 1) * scale)
    count = steps.shape[1]
    place = float(np.clip(level * count - 0.5, 0.0, count - 1.0))
    first = min(int(place), count - 2)
    before, after = steps[:, first], steps[:, first + 1]
    return np.asarray(before + (place - first) * (after - before))
