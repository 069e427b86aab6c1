"""Scale before the phase changes: by how likely a change is, to which phase, and what that needs.

While a phase lasts, a run is given its recent maximum and the rise that is usual in this phase.
The chance that the phase ends before the next decision follows from how long it has lasted; which
one comes next, from what came next before. Where entering a phase is likelier than what may go
wrong, the run gets at once what that phase needs: what it used itself when it was there last, or
else what others needed when they entered it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.past_use import before, recent_peak, startup_level, windowed
from prophase.autoscale.phase_labels import elapsed_in_phase, phases_of
from prophase.autoscale.policies.per_phase import ODDS, WINDOWS, rise_at, rises_by
from prophase.autoscale.policy import Plan, ScalingPolicy, Wish

#: a stay is young or old by powers of two of its samples; the last is longer than any run
_AGES = 16
#: decisions that the chance of a change in a phase counts for beside those of one age
_PRIOR = 20.0
#: samples of a phase that its own rises need, and of entering a phase
_ENOUGH, _ENTERED = 200, 60


class PhaseAhead(ScalingPolicy):
    """Give what the present phase needs, and what the next one needs once a change is likely."""

    name: ClassVar[str] = "phase-ahead"
    learns = True
    dials = (1.0, 1e5)
    precision = 0.02

    def __init__(self, *, window: int = 4) -> None:
        self.window = window

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        self.floor_ = 1e-3 * float(fleet.use.mean())
        seen = _seen(fleet, self.window, self.floor_)
        known = fleet.age > 0
        then = _then(fleet, seen)
        changes = known & (then >= 0)
        self.chance_ = _chances(seen, known, changes)
        self.moves_ = np.full((seen.phases, seen.phases), 1e-3)
        np.add.at(self.moves_, (seen.phase[changes], then[changes]), 1.0)
        np.fill_diagonal(self.moves_, 0.0)
        self.moves_ /= np.maximum(self.moves_.sum(axis=1, keepdims=True), 1e-12)
        stays = np.repeat(known & ~changes, fleet.block_length)
        rise = fleet.use / fleet.per_sample(seen.recent)
        phase = np.repeat(seen.phase, fleet.block_length)
        self.rises_ = rises_by(rise[stays], phase[stays], seen.phases, enough=_ENOUGH)
        self.entering_ = _entering(fleet, seen, then, changes)
        return self

    def plan(self, fleet: Fleet) -> Plan:
        seen = _seen(fleet, self.window, self.floor_)
        chance = self.chance_[seen.phase, seen.stay][:, None] * self.moves_[seen.phase]
        return _Ahead(fleet, seen, chance, self.rises_, self.entering_, self.startup_)

    def variants(self) -> Sequence[PhaseAhead]:
        return [type(self)(window=window) for window in WINDOWS]

    def settings(self) -> dict[str, float | int | str]:
        return {"window_decisions": self.window}


@dataclass(frozen=True)
class _Seen:
    """What a decision knows of the phases of its run."""

    #: (samples,)
    labels: Ints
    phases: int
    #: (decisions,) phase, how long it has lasted (a power of two), highest recent use
    phase: Ints
    stay: Ints
    recent: Floats
    #: (decisions, phases) the highest use of the run in each phase so far; 0 if never there
    own: Floats


def _seen(fleet: Fleet, window: int, floor: float) -> _Seen:
    labels, phases = phases_of(fleet)
    elapsed = np.asarray(before(fleet, elapsed_in_phase(fleet, labels)), np.int64)
    whole = int(fleet.lengths.max(initial=1))
    own = np.zeros((fleet.decisions, phases))
    for phase in range(phases):
        inside = labels == phase
        if inside.any():
            peak = windowed(fleet, whole, values=np.where(inside, fleet.use, 0.0))
            own[:, phase] = np.asarray(before(fleet, peak), np.float64)
    own[fleet.age == 0] = 0.0
    return _Seen(
        labels,
        phases,
        np.asarray(before(fleet, labels), np.int64),
        np.minimum(np.log2(elapsed + 1).astype(np.int64), _AGES - 1),
        np.maximum(recent_peak(fleet, window * fleet.every), floor),
        own,
    )


def _then(fleet: Fleet, seen: _Seen) -> Ints:
    """Return the phase that follows soon after each decision; -1 where none does.

    Soon is before the next decision but one: a detector sees a new phase some samples late.
    """
    found = np.full(fleet.decisions, -1, np.int64)
    end = (fleet.run_start + fleet.lengths)[fleet.run_of_decision]
    for place in range(2 * fleet.every - 1, -1, -1):
        at = fleet.first_sample + place
        label = seen.labels[np.minimum(at, fleet.samples - 1)]
        found = np.where((at < end) & (label != seen.phase), label, found)
    return found


def _chances(seen: _Seen, known: np.ndarray, changes: np.ndarray) -> Floats:
    """Return how likely a phase ends soon, (phases, ages of the stay)."""
    count, ended = np.zeros((2, seen.phases, _AGES))
    np.add.at(count, (seen.phase[known], seen.stay[known]), 1.0)
    np.add.at(ended, (seen.phase[changes], seen.stay[changes]), 1.0)
    usual = ended.sum(axis=1, keepdims=True) / np.maximum(count.sum(axis=1, keepdims=True), 1.0)
    found: Floats = (ended + _PRIOR * usual) / (count + _PRIOR)
    return found


def _reference(seen: _Seen, phase: int) -> Floats:
    """Return what entering a phase is measured by: the run's own use there, or its recent use."""
    return np.where(seen.own[:, phase] > 0, seen.own[:, phase], seen.recent)


def _entering(fleet: Fleet, seen: _Seen, then: Ints, changes: np.ndarray) -> Floats:
    """Return rises when a phase is entered: (phases, never there before or there before, odds)."""
    rise = np.ones(fleet.samples)
    label = np.full(fleet.samples, -1, np.int64)
    for phase in range(seen.phases):
        into = changes & (then == phase)
        samples = np.repeat(into, fleet.block_length)
        reference = fleet.per_sample(_reference(seen, phase))
        rise[samples] = (fleet.use / np.maximum(reference, 1e-12))[samples]
        label[samples] = np.repeat(2 * phase + (seen.own[:, phase] > 0), fleet.block_length)[
            samples
        ]
    entered = label >= 0
    found = rises_by(rise[entered], label[entered], 2 * seen.phases, enough=_ENTERED)
    return found.reshape(seen.phases, 2, len(ODDS))


@dataclass(frozen=True)
class _Ahead(Wish):
    fleet: Fleet
    seen: _Seen
    #: (decisions, phases) how likely each phase is entered soon
    chance: Floats
    #: (phases, odds)
    rises: Floats
    #: (phases, 2, odds)
    entering: Floats
    startup: float

    def wanted(self, dial: float) -> Floats:
        seen, missed = self.seen, 1 / (1 + dial)
        rise = np.array([rise_at(dial, curve) for curve in self.rises])
        found = seen.recent * rise[seen.phase]
        for phase in range(seen.phases):
            # entering it may fall short as often as all the rest may: at odds of chance / missed
            odds = self.chance[:, phase] / missed - 1
            for before_, curve in enumerate(self.entering[phase]):
                at = np.flatnonzero((odds > 1) & ((seen.own[:, phase] > 0) == bool(before_)))
                if len(at):
                    needed = _reference(seen, phase)[at] * rise_at(odds[at], curve)
                    found[at] = np.maximum(found[at], needed)
        return np.where(self.fleet.age > 0, found, self.startup)
