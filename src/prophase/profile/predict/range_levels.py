"""Ranges with the promised coverage, read off a predicted distribution at calibrated levels.

A distribution says at which level each outcome lay. The ends of a range are the levels that
95 % of the outcomes of the same stratum stayed above and below: farther out than the nominal
levels where the distribution was too sure of itself, farther in where it was not sure enough.
While outcomes come in, recent ones count more, and both ends move out after misses and in
while there are none (adaptive conformal inference, Gibbs and Candes 2021), so that the share
of misses stays what was promised when the world changes. A miss is one of the range that the
job was given when it came, which knew nothing of the burst that it came with: ends that have
learnt from half of a burst say little of what the next one will meet. Jobs that still run count
as at least that long (:mod:`~prophase.profile.predict.censored`). Long after the last
outcome nothing can be corrected: all outcomes count alike, and ranges reach a little farther.
Outcomes beyond everything that was thought possible lie at levels below 0 and above 1, by how
far.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Bools, Floats, Ints
from prophase.profile.predict.back_off_keys import Keys
from prophase.profile.predict.censored import PASSED, NotYetEnded
from prophase.profile.predict.conformal_range import TAIL, conformal_quantile
from prophase.profile.predict.point_and_range import STRANGER, STRATA, PointAndRange
from prophase.stats.blocks import t_factor

#: degrees of freedom from which on nothing is left to be learnt
_MANY = 1e9
#: how many outcomes count, while they come in and long after the last; after how many one counts
#: half while they come in: over the short and the long run, of which the wider range is taken
_MOST = {False: 3_000, True: 6_000}
_HALF_LIVES = (200.0, 1_000.0)
#: outcomes after which both ends are moved, and by how much for each share of misses too many
_STEP = 20
_PACE = 0.1
_FARTHEST, _NEAREST = 0.5, -0.1
#: logarithm of a run time that none reaches
_LONGEST = 700.0
#: no range is narrower than these levels
_INNERMOST = 0.4
#: moves that are remembered
_KEPT = 2_000
#: all jobs count as so many outcomes of each stratum
_COMMON = 60.0
#: long after the last outcome: share on each side that a range is not narrowed below, of few
#: outcomes and of very many, and up to how many are few
_NARROWEST, _FEW = (0.06, 0.09), 1_000.0
#: what is less known reaches this much farther: the future differs from the past
_FARTHER = {"": 0.0, "seen": 0.0, "partly": 0.02, "new": 0.04, STRANGER: 0.04}
_STALE_FARTHER = 0.01
#: ends of a range before any outcome is known: a little beyond the whole distribution
_UNTRIED = (-0.05, 1.05)


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
        as_of: Floats | None = None,
        start: Floats | None = None,
    ) -> None:
        """Remember the levels of outcomes, known from ``end`` on.

        ``as_of`` is when their ranges were asked for; without it, just before they were known.
        Of run times, ``start`` is when the jobs began: until they ended they were known to run.
        """
        as_of = end if as_of is None else as_of
        steps = answer.distribution()
        passed = None
        # of jobs that are reported one by one, none runs while another ends
        if start is not None and len(start) > 1 and not stale.all():
            passed = _passed(steps, start, self.scale)
        low, high = levels_of(steps, values, self.scale)
        valid = np.isfinite(steps[:, 0])
        for late in (False, True):
            of_regime = valid & (stale == late)
            for kind in ("", *STRATA):
                chosen = of_regime & (stratum == kind) if kind else of_regime
                if chosen.any():
                    # long after the last outcome the reserve is not moved, but added at the end
                    farther = 0.0 if late else _FARTHER[kind]
                    held = self._groups.setdefault((kind, late), _Levels(farther, late))
                    running = None if passed is None or late else passed[chosen]
                    held.add(end[chosen], low[chosen], high[chosen], as_of[chosen], running)

    def add_strangers(
        self, answer: PointAndRange, values: Floats, kinds: NDArray[np.str_], stale: Bools,
        end: Floats, as_of: Floats,
    ) -> None:  # fmt: skip
        """Remember the levels of those outcomes that are strangers'."""
        for late in (False, True):
            rows = np.flatnonzero((kinds == STRANGER) & (stale == late))
            held = self._groups.get((STRANGER, late))
            if held is not None and len(rows):
                needed = levels_of(answer.distribution()[rows], values[rows], self.scale)
                held.add(end[rows], *needed, as_of[rows])

    def learn_strangers(self, low: Floats, high: Floats, owner: Keys, random_state: int) -> None:
        """Remember the levels of outcomes of owners that were left out, as known from the start.

        An owner who comes counts as one of these, so few owners leave more open than many
        outcomes of theirs: levels are stretched from the middle by what their number leaves open.
        """
        if not len(low):
            return
        stretch = _stretch((low + high) / 2, owner)
        order = np.random.default_rng(random_state).permutation(len(low))
        ends = (0.5 + stretch * (level[order] - 0.5) for level in (low, high))
        always = np.full(len(low), np.inf)
        # each is compared with what those before it needed
        known = -always, *ends, always
        for late in (False, True):
            held = self._groups[STRANGER, late] = _Levels(0.0, late)
            held.add(*known)

    def widen(
        self, answer: PointAndRange, stratum: NDArray[np.str_], stale: Bools, as_of: Floats
    ) -> tuple[Floats, Floats]:
        """Return the ends of the ranges."""
        steps = answer.distribution()
        low, high = np.full(len(as_of), -np.inf), np.full(len(as_of), np.inf)
        for late in set(stale.tolist()):
            for kind in set(stratum[stale == late].tolist()):
                rows = np.flatnonzero((stratum == kind) & (stale == late))
                # moments between which no end was moved share their levels
                moves = self._moves(kind, late, as_of[rows])
                order = np.argsort(moves, kind="stable")
                for part in np.split(rows[order], 1 + np.flatnonzero(np.diff(moves[order]))):
                    lowest, highest = self._ends(kind, late, float(as_of[part[0]]))
                    low[part] = at_level(steps[part], lowest, self.scale)
                    high[part] = at_level(steps[part], highest, self.scale)
        return np.minimum(low, answer.point), np.maximum(high, answer.point)

    def _moves(self, kind: str, late: bool, as_of: Floats) -> Ints:
        """Return how often ends that count for a stratum had been moved before each moment."""
        groups = ((name, regime) for name in ("", kind) for regime in (late, not late))
        held = (self._groups[group] for group in groups if group in self._groups)
        return sum((one.moves(as_of) for one in held), np.zeros(len(as_of), dtype=np.int64))

    def _ends(self, kind: str, late: bool, as_of: float) -> tuple[float, float]:
        """Return the levels of both ends: the stratum's own, and with few outcomes those of all."""
        for regime in (late, not late):
            whole = self._groups.get(("", regime))
            if whole is None or (known := whole.ends(as_of)) is None:
                continue
            farther = 0.0 if regime else _FARTHER[kind]
            low, high = common = known[0] - farther, known[1] + farther
            own = self._groups.get((kind, regime))
            mine = own.ends(as_of) if own is not None else None
            held = own.before(as_of) if own is not None else 0.0
            if mine is not None:
                part = held / (held + _COMMON)
                low, high = (part * a + (1 - part) * b for a, b in zip(mine, common, strict=True))
            if not regime:
                return low, high
            if kind != "seen":
                # nobody sees it if they become fewer than promised
                low, high = min(low, common[0]), max(high, common[1])
            return _with_reserve(low, high, held, max(_FARTHER[kind], _STALE_FARTHER))
        return _UNTRIED


class _Levels:
    """Levels that both ends would have needed, and where the ends were, as they became known."""

    def __init__(self, farther: float, late: bool) -> None:
        self.late = late
        self._end, self._low, self._high = np.empty(0), np.empty(0), np.empty(0)
        self._count = 0
        #: outcomes that wait for the step to be full, and how many of them missed either end
        self._waiting = 0
        self._missed = np.zeros(2)
        #: how much farther out than the share of past outcomes says, below and above
        self._farther = np.full(2, farther)
        #: the ends, how many outcomes they are of, and since when they hold
        self._moved, self._held, self._since = np.empty((0, 2)), np.empty(0), np.empty(0)

    def add(
        self, end: Floats, low: Floats, high: Floats, as_of: Floats, passed: Floats | None = None
    ) -> None:
        order = np.argsort(end, kind="stable")
        newest = self._end[-1] if len(self._end) else -np.inf
        # what is reported late was not known before
        ends = np.maximum.accumulate(np.maximum(end[order], newest))
        low, high, as_of = low[order], high[order], as_of[order]
        running = None if passed is None else NotYetEnded(as_of, passed[order])
        first = 0
        while first < len(ends):
            last = len(ends) if self.late else min(len(ends), first + _STEP - self._waiting)
            part = slice(first, last)
            counted = running.outlived[part] if running is not None else np.False_
            self._take(ends[part], low[part], high[part], as_of[part], counted)
            if self._waiting >= _STEP or self.late:
                self._move(running, last)
            first = last

    def _take(
        self, end: Floats, low: Floats, high: Floats, as_of: Floats, counted: Bools | np.bool_
    ) -> None:
        """Remember outcomes that do not fill more than one step, and which were missed."""
        most = _MOST[self.late]
        self._end = np.concatenate([self._end, end])[-most:]
        self._low = np.concatenate([self._low, low])[-most:]
        self._high = np.concatenate([self._high, high])[-most:]
        self._count += len(end)
        self._waiting += len(end)
        if len(self._moved) and not self.late:
            # the ends that held when the jobs came; before any did, the first
            below, above = self._moved[np.maximum(self.moves(as_of) - 1, 0)].T
            missed = np.array([(low < below).sum(), ((high > above) & ~counted).sum()])
            self._missed = self._missed + missed

    def _move(self, running: NotYetEnded | None, ended: int) -> None:
        """Move the ends by what ended, and by jobs that run after so many of them had ended."""
        beyond = np.zeros(len(PASSED), dtype=np.int64)
        if running is not None:
            beyond = running.beyond(float(self._end[-1]), ended)
            if len(self._moved):
                given = self._moved[np.maximum(self.moves(running.asked) - 1, 0), 1]
                self._missed[1] += running.newly_outlived(given)
        if len(self._moved) and not self.late:
            moved = self._farther + _PACE * (self._missed / self._waiting - TAIL)
            self._farther = np.clip(moved, _NEAREST, _FARTHEST)
        self._waiting, self._missed = 0, np.zeros(2)
        lives = (np.inf,) if self.late else _HALF_LIVES
        low_end = -conformal_quantile(-self._low, *lives)
        high_end = conformal_quantile(self._high, *lives, bounds=PASSED, jobs=beyond)
        lowest = min(low_end - self._farther[0], _INNERMOST)
        highest = max(high_end + self._farther[1], 1 - _INNERMOST)
        ends = np.array([[lowest, highest]])
        self._moved = np.concatenate([self._moved, ends])[-_KEPT:]
        self._held = np.append(self._held, float(self._count))[-_KEPT:]
        self._since = np.append(self._since, self._end[-1])[-_KEPT:]

    def moves(self, as_of: Floats) -> Ints:
        """Return how often the ends had been moved before each moment."""
        return np.searchsorted(self._since, as_of, side="left").astype(np.int64)

    def before(self, as_of: float) -> float:
        """Return of how many outcomes the ends are that held before a moment."""
        place = int(np.searchsorted(self._since, as_of, side="left"))
        return float(self._held[place - 1]) if place else 0.0

    def ends(self, as_of: float) -> tuple[float, float] | None:
        """Return the levels of both ends as they were before a moment."""
        place = int(np.searchsorted(self._since, as_of, side="left"))
        if not place:
            return None
        low, high = self._moved[place - 1].tolist()
        return low, high


def _stretch(levels: Floats, owner: Keys) -> float:
    """Return how much farther from the middle the next owner's outcomes may lie.

    Levels differ within owners and between them. What lies between is known from as many values as
    there are owners, and the next one is one more (Student's prediction interval).

    Examples
    --------
    >>> few, many = np.arange(4).repeat(50), np.arange(40).repeat(50)
    >>> round(_stretch(few * 0.1, few), 2), round(_stretch(many * 0.1, many), 2)
    (1.6, 1.04)
    """
    _, place, jobs = np.unique(owner, return_inverse=True, return_counts=True)
    count = len(jobs)
    if count < 2:
        return 1.0
    means = np.bincount(place, levels) / jobs
    within = float((np.bincount(place, levels**2) / jobs - means**2).mean())
    between = max(float(means.var(ddof=1)) - within / len(levels) * count, 0.0)
    inside = 1 - 2 * TAIL
    open_ = (1 + 1 / count) * (t_factor(count - 1, inside) / t_factor(_MANY, inside)) ** 2
    return float(np.sqrt((within + open_ * between) / max(within + between, 1e-12)))


def _with_reserve(low: float, high: float, held: float, farther: float) -> tuple[float, float]:
    """Return ends that nothing will correct: not narrowed on few outcomes, and farther out."""
    few, many = _NARROWEST
    narrowest = many - (many - few) * _FEW / max(held, _FEW)
    return min(low, narrowest) - farther, max(high, 1 - narrowest) + farther


def _passed(steps: Floats, start: Floats, scale: float) -> Floats:
    """Return when jobs that began at ``start`` have run longer than each level of ``PASSED``."""
    places = [at_level(steps, level, scale) for level in PASSED.tolist()]
    return np.asarray(start[:, None] + np.exp(np.minimum(np.column_stack(places), _LONGEST)))


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
    return at_levels(steps, np.array([level]))[:, 0]


def at_levels(steps: Floats, levels: Floats) -> Floats:
    """Return the places of levels from 0 to 1 in each row of outcomes, a column per level."""
    count = steps.shape[1]
    place = np.clip(levels * count - 0.5, 0.0, count - 1.0)
    first = np.minimum(place.astype(np.intp), count - 2)
    before, after = steps[:, first], steps[:, first + 1]
    found: Floats = before + (place - first) * (after - before)
    return found
