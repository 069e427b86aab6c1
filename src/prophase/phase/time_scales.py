"""Iterations, epochs, stages: the same series has phases at several time scales.

A training run moves every second, validates every ten minutes and warms up once. Sample by sample
it only flickers; in means of longer steps the slower phases come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prophase import units
from prophase.json_types import JsonObject
from prophase.phase.stays import Stays, stays_of
from prophase.plain import finite
from prophase.result import Result, Table
from prophase.stats import Estimate
from prophase.trace.series.usage_series import Floats, Ints

#: steps that are looked at, in usual steps of the series
MULTIPLES = (1, 3, 10, 30, 100, 300)
#: steps with fewer samples than this over all series are too long
LEAST_SAMPLES = 100
#: phases whose stays are shorter on average, in samples, flicker
_LEAST_STAY = 4.0
#: returns to a phase without which nothing is said about how regular they are
_LEAST_RETURNS = 4
#: returns sooner than this share of the long ones belong to the visit before
_SAME_VISIT = 0.25
#: middle half of the times between returns, as a share of their median, that is still regular
_REGULAR = 0.35


@dataclass(frozen=True)
class Cycle:
    """A phase that comes back at regular times, as the end of an epoch does."""

    phase: int
    #: seconds between two visits: median, middle half, and how many were seen
    every_s: Estimate

    def sentence(self) -> str:
        held = self.every_s
        every, low, high = map(units.duration, (held.value, held.low, held.high))
        return (
            f"Phase {self.phase} comes back every {every} (half of the times {low} to {high}, "
            f"{held.n} seen), as the end of an epoch would."
        )


@dataclass(frozen=True)
class TimeScale:
    """Phases at one step."""

    step_s: float
    phases: int
    mean_stay_s: float
    cycle: Cycle | None

    @property
    def flickers(self) -> bool:
        return self.mean_stay_s < _LEAST_STAY * self.step_s

    def row(self) -> JsonObject:
        found: JsonObject = finite(
            {
                "step_s": self.step_s,
                "phases": self.phases,
                "mean_stay_s": self.mean_stay_s,
                "cycle_s": self.cycle.every_s.value if self.cycle else None,
                "cycles_seen": self.cycle.every_s.n if self.cycle else None,
                "like": self.like,
            }
        )
        return found

    @property
    def like(self) -> str:
        """What a person would call phases of this length."""
        if self.phases == 1:
            return "nothing changes"
        if self.cycle is not None:
            return "epochs"
        return "iterations" if self.flickers else "stages"


def scale_of(labels: Sequence[Ints], step_s: float, phases: int) -> TimeScale:
    """Return what phases at one step are like in time."""
    stays = stays_of(labels)
    mean = float(stays.samples.mean()) * step_s if len(stays.samples) else np.nan
    return TimeScale(step_s, phases, mean, cycle_in(stays, step_s))


def cycle_in(stays: Stays, step_s: float) -> Cycle | None:
    """Return the phase that comes back most regularly, if any does.

    Examples
    --------
    >>> labels = np.tile(np.repeat([0, 1], [20, 2]), 6)
    >>> found = cycle_in(stays_of([labels]), 30.0)
    >>> found.every_s.value, found.every_s.n
    (660.0, 4)
    """
    found: list[tuple[float, Cycle]] = []
    begins = _begins(stays) * step_s
    for phase in np.unique(stays.phase):
        times = [
            _between(begins[(stays.series == one) & (stays.phase == phase)])
            for one in np.unique(stays.series)
        ]
        gaps = np.concatenate(times)
        if len(gaps) < _LEAST_RETURNS:
            continue
        low, middle, high = (float(q) for q in np.quantile(gaps, (0.25, 0.5, 0.75)))
        if (high - low) <= _REGULAR * middle and middle >= 2 * _LEAST_STAY * step_s:
            every = Estimate(middle, low, high, level=0.5, n=len(gaps))
            found.append(((high - low) / middle, Cycle(int(phase), every)))
    return min(found, key=lambda one: one[0])[1] if found else None


def _begins(stays: Stays) -> Ints:
    """Return the sample at which each stay begins, counted from the first stay of its series."""
    ends = np.cumsum(stays.samples)
    begins = ends - stays.samples
    first = np.flatnonzero(np.diff(stays.series, prepend=-1))
    return begins - np.repeat(begins[first], np.diff(np.append(first, len(begins))))


def _between(begins: Floats) -> Floats:
    """Return the times between visits; a short way out and back is one visit.

    A series begins in the middle of something, so its first time is not counted.
    """
    gaps = np.diff(begins)
    if len(gaps) == 0:
        return gaps
    least = _SAME_VISIT * np.quantile(gaps, 0.75)
    kept = [float(begins[0])]
    for at in begins[1:].tolist():
        if at - kept[-1] > least:
            kept.append(at)
    return np.diff(np.array(kept))[1:]


def human(scales: Sequence[TimeScale]) -> TimeScale:
    """Return the scale that a person would take: the first unless its phases only flicker.

    Otherwise the one whose regular cycle is made of the fewest stays, or else the finest that does
    not flicker.
    """
    calm = [one for one in scales if not one.flickers and one.phases > 1]
    if not calm or calm[0] is scales[0]:
        return scales[0]
    stays = [
        (one.cycle.every_s.value / one.mean_stay_s, one) for one in calm if one.cycle is not None
    ]
    return min(stays, key=lambda pair: pair[0])[1] if stays else calm[0]


def scales_result(scales: Sequence[TimeScale]) -> Result:
    """Return a row per time scale, and what comes back when."""
    chosen = human(scales)
    notes = [
        "mean_stay_s: how long a phase lasts; cycle_s: how often the most regular one comes back.",
        *(
            f"At steps of {units.duration(one.step_s)}: {one.cycle.sentence()}"
            for one in scales
            if one.cycle is not None
        ),
        f"A fit without --step takes steps of {units.duration(chosen.step_s)}.",
    ]
    return Result(
        "phase-scales",
        tables=[Table("scales", [one.row() for one in scales])],
        notes=notes,
        values={"scales": [one.row() for one in scales], "step_s": chosen.step_s},
    )


def steady(phases: Ints, samples: int) -> Ints:
    """Return phases that change only after a new one has lasted so many samples.

    No later sample is looked at, so a change is told so many samples less one late, and no stay is
    shorter.

    Examples
    --------
    >>> steady(np.array([0, 0, 1, 0, 0, 1, 1, 1]), 2).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1]
    """
    if samples <= 1:
        return phases
    hold = Hold(samples)
    return np.array([hold.push(one) for one in phases.tolist()], dtype=np.int64)


class Hold:
    """Sample by sample, what `steady` does to a stretch."""

    def __init__(self, samples: int) -> None:
        self._needed = samples
        self._phase, self._next, self._lasted = -1, -1, 0

    def push(self, phase: int) -> int:
        """Take the phase of one more sample and return the one that is told."""
        if self._phase < 0 or phase < 0 or phase == self._phase:
            self._phase, self._next, self._lasted = phase, phase, 0
            return phase
        self._lasted = self._lasted + 1 if phase == self._next else 1
        self._next = phase
        if self._lasted >= self._needed:
            self._phase, self._lasted = phase, 0
        return self._phase
