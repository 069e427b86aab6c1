"""Kubernetes' vertical pod autoscaler, as its recommender and updater really work.

Use fills a histogram whose buckets grow by 5 % and whose weights halve in a day. CPU adds every
sample, weighted by the request; memory adds the peak of each day, replaced when it rises. The
target is the 90th percentile and 15 % on top, the bounds are the 50th and the 95th with a
factor that closes in as history grows. The updater acts when the request leaves the bounds, or
after twelve hours when it is 10 % off the target. A kill for lack of memory adds a sample of
1.2 times what was used. Numbers are those of the recommender's and updater's default flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from prophase.autoscale.allocation_measures import is_memory
from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.past_use import startup_level
from prophase.autoscale.policy import Hysteresis, Part, Plan, ScalingPolicy

_DAY_S = 86_400.0
_GROWTH = 1.05
_MARGIN = 1.15
_LOWER, _TARGET, _UPPER = 0.5, 0.9, 0.95
_MIN_WEIGHT = 0.1
_SETTLED_S = 12 * 3600.0
_WORTH_IT = 0.1
#: a kill this soon after the start moves a pod at once; later ones act through the histogram
_QUICK_KILL_S = 600.0
_OOM_RATIO = 1.2
#: per ending of a metric: smallest bucket, least recommendation, least rise after a kill
_UNITS = {
    "_gib": (1e7 / 2**30, 250 / 1024, 100 / 1024),
    "_cores": (0.01, 0.025, 0.0),
}
#: for percentages and shares, in parts of the highest value: what VPA's are of a large node
_OTHER = (1e-4, 0.0, 0.0)


class Vpa(ScalingPolicy):
    """Recommend and update as VPA does, with its defaults: its margin is not tuned."""

    name = "vpa"
    tuned = False
    hystereses = (Hysteresis(),)

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        self.top_ = float(fleet.use.max()) or 1.0
        return self

    def plan(self, fleet: Fleet) -> Plan:
        return _Recommender(fleet, self.startup_, self.top_)


class TunedVpa(Vpa):
    """The same with a margin that satisfies as often as asked, instead of 15 %."""

    name = "vpa-tuned"
    tuned = True


@dataclass(frozen=True)
class _Recommender(Plan):
    fleet: Fleet
    startup: float
    top: float

    def allocate(self, dial: float, rule: Hysteresis) -> Floats:
        fleet = self.fleet
        state = _Histograms(fleet, _sizes(fleet.metric, self.top), dial * _MARGIN)
        chosen = np.full(fleet.decisions, self.startup)
        for wave in fleet.waves[1:]:
            current = chosen[wave - 1]
            state.observe(wave - 1, current)
            chosen[wave] = _updated(state, wave, current)
        return chosen

    @classmethod
    def joined(cls, fleet: Fleet, parts: Sequence[Part[Self]]) -> Plan:
        # nothing is learned but where a run starts
        return cls(fleet, parts[0].plan.startup, parts[0].plan.top)


def _updated(state: _Histograms, wave: Ints, current: Floats) -> Floats:
    """Return the request after the updater has looked at the recommendation."""
    fleet, runs = state.fleet, state.fleet.run_of_decision[wave]
    lived_s = fleet.age[wave] * fleet.step_s
    days = np.minimum(lived_s / _DAY_S, fleet.age[wave] / 1440)
    lower, target, upper = state.percentiles(runs)
    lower = lower * (1 + 0.001 / days) ** -2
    upper = upper * (1 + 1 / days)
    outside = (current < lower) | (current > upper)
    worth = np.abs(current - target) > _WORTH_IT * np.maximum(current, 1e-12)
    early_kill = state.killed[runs] & (lived_s <= _QUICK_KILL_S)
    moved = outside | ((lived_s >= _SETTLED_S) & worth) | early_kill
    return np.where(moved, target, current)


class _Histograms:
    """A decaying histogram per run."""

    def __init__(self, fleet: Fleet, sizes: tuple[float, float, float], margin: float) -> None:
        self.fleet, self.margin = fleet, margin
        self.first, self.least, self.least_bump = sizes
        self.memory = is_memory(fleet.metric)
        highest = 1 + float(fleet.use.max()) * 4 / self.first
        count = int(np.log(highest * (_GROWTH - 1) + 1) / np.log(_GROWTH)) + 2
        self.starts = self.first * (_GROWTH ** np.arange(count + 1) - 1) / (_GROWTH - 1)
        runs = len(fleet.lengths)
        self.weight = np.zeros((runs, count))
        self.peak = np.zeros(runs)
        self.killed = np.zeros(runs, bool)

    def observe(self, blocks: Ints, current: Floats) -> None:
        """Add the samples of an interval that has passed under an allocation."""
        fleet = self.fleet
        runs = fleet.run_of_decision[blocks]
        self.killed[:] = False
        for place in range(fleet.every):
            inside = place < fleet.block_length[blocks]
            rows, at = runs[inside], fleet.first_sample[blocks[inside]] + place
            use = fleet.use[at]
            age_s: Floats = (fleet.age[blocks[inside]] + place) * np.float64(fleet.step_s)
            if self.memory:
                self._add_peak(rows, use, current[inside], age_s)
            else:
                # weights that double in a day instead of old ones that halve: the same shares
                weight = np.maximum(current[inside], _MIN_WEIGHT) * 2.0 ** (age_s / _DAY_S)
                self.weight[rows, self._bucket(use)] += weight

    def _add_peak(self, rows: Ints, use: Floats, current: Floats, age_s: Floats) -> None:
        killed = use > current
        self.killed[rows] |= killed
        needed = np.maximum(use * _OOM_RATIO, use + self.least_bump)
        use = np.where(killed, needed, use)
        # the day's peak has one sample in the histogram: a higher one takes its place
        new_day = np.floor(age_s / _DAY_S) > np.floor((age_s - self.fleet.step_s) / _DAY_S)
        old = np.where(new_day, 0.0, self.peak[rows])
        higher = use > old
        taken = higher & (old > 0)
        weight = 2.0 ** np.floor(age_s / _DAY_S)
        self.weight[rows[taken], self._bucket(old[taken])] -= weight[taken]
        self.weight[rows[higher], self._bucket(use[higher])] += weight[higher]
        self.peak[rows] = np.where(higher, use, old)

    def percentiles(self, runs: Ints) -> tuple[Floats, Floats, Floats]:
        """Return lower bound, target and upper bound of runs, before confidence."""
        filled = np.cumsum(self.weight[runs], axis=1)
        found = []
        for share in (_LOWER, _TARGET, _UPPER):
            reached: NDArray[np.bool_] = filled >= share * filled[:, -1:] - 1e-9
            end = self.starts[np.argmax(reached, axis=1) + 1]
            found.append(np.maximum(end * self.margin, self.least))
        return found[0], found[1], found[2]

    def _bucket(self, use: Floats) -> Ints:
        place = np.searchsorted(self.starts, use, side="right") - 1
        return np.clip(place, 0, self.weight.shape[1] - 1)


def _sizes(metric: str, top: float) -> tuple[float, float, float]:
    for ending, sizes in _UNITS.items():
        if metric.endswith(ending):
            return sizes
    first, least, bump = _OTHER
    return first * top, least, bump
