"""The highest use so far, with as much room as runs of this age that grew so recently need.

A run that has just begun still grows; one that has not grown for hours hardly ever does. So the
room above the highest use is learnt by state: how old the run is, and how long ago it last grew.
In each state the room is taken that makes allocation plus price times kills least, and the price
is the dial. Few kills are seen in a state, so each borrows some of what all states have seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.past_use import recent_peak
from prophase.autoscale.policy import Plan, ScalingPolicy, Wish

#: hours of age, and since the last growth, at which another state begins
_AGES_H = (0.001, 0.17, 1.0, 4.0, 12.0)
_CALM_H = (0.17, 1.0, 4.0, 12.0)
#: growth below this share of the highest use is none
_GROWN = 0.01
#: times the highest use, and shares of past runs whose highest use is the least that is given
_ROOMS = (1.0, 1.01, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2.0, 3.0, 5.0)
_FLOORS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
#: decisions' worth of all states that a state borrows
_BORROWED = 200.0


class PeakGrowth(ScalingPolicy):
    """Give the highest use, and room for the growth that is usual in the run's state.

    Parameters
    ----------
    window : int
        Decisions that the highest use is of.
    """

    name = "peak-growth"
    learns = True
    dials: ClassVar[tuple[float, float]] = (1.0, 1e7)
    precision: ClassVar[float] = 1e-2
    windows: ClassVar[tuple[int, ...]] = (12, 24, 48, 288)

    def __init__(self, *, window: int = 288) -> None:
        self.window = window

    def fit(self, fleet: Fleet, target: float) -> Self:
        state, base = self._seen(fleet)
        coming = fleet.block_peak()
        highest = np.maximum.reduceat(fleet.use, fleet.run_start)
        self.floors_ = np.array(
            [0.0 if share == 0 else float(np.quantile(highest, share)) for share in _FLOORS]
        )
        self.mean_ = float(fleet.use.mean()) or 1.0
        count = len(_AGES_H) * len(_CALM_H) + len(_AGES_H) + len(_CALM_H) + 1
        held = np.bincount(state, minlength=count).astype(np.float64)
        given = np.zeros((count, len(_ROOMS), len(_FLOORS)))
        short = np.zeros_like(given)
        for at, room in enumerate(_ROOMS):
            for place, floor in enumerate(self.floors_):
                level = np.maximum(base * room, floor)
                given[:, at, place] = np.bincount(state, level, minlength=count)
                short[:, at, place] = np.bincount(state, coming > level, minlength=count)
        usual = short.sum(axis=0) / max(held.sum(), 1.0)
        rows = np.maximum(held, 1.0)[:, None, None]
        self.given_ = given / rows / self.mean_
        self.short_ = (short + _BORROWED * usual) / (held[:, None, None] + _BORROWED)
        # a state that was never seen is given what all together are
        unseen = held == 0
        self.given_[unseen] = given.sum(axis=0) / max(held.sum(), 1.0) / self.mean_
        self.short_[unseen] = usual
        return self

    def plan(self, fleet: Fleet) -> Plan:
        state, base = self._seen(fleet)
        return _Priced(fleet, state, base, self.floors_, self.given_, self.short_)

    def variants(self) -> Sequence[PeakGrowth]:
        return [type(self)(window=window) for window in self.windows]

    def settings(self) -> dict[str, float | int | str]:
        return {"window_decisions": self.window}

    def _seen(self, fleet: Fleet) -> tuple[Ints, Floats]:
        """Return the state of each decision, and the highest use before it."""
        longest = int(fleet.lengths.max())
        base = recent_peak(fleet, min(self.window * fleet.every, longest))
        ever = recent_peak(fleet, longest)
        rows = np.arange(fleet.decisions)
        first = fleet.age == 0
        grew = first | (ever > (1 + _GROWN) * np.concatenate([[0.0], ever[:-1]]))
        since = rows - np.maximum.accumulate(np.where(grew, rows, 0))
        hours = fleet.step_s / 3600
        old = np.digitize(fleet.age * hours, _AGES_H)
        calm = np.digitize(since * fleet.every * hours, _CALM_H)
        return (old * (len(_CALM_H) + 1) + calm).astype(np.int64), base


@dataclass(frozen=True)
class _Priced(Wish):
    fleet: Fleet
    state: Ints
    base: Floats
    floors: Floats
    given: Floats
    short: Floats

    def wanted(self, dial: float) -> Floats:
        cost = (self.given + dial * self.short).reshape(len(self.given), -1)
        best = cost.argmin(axis=1)
        room = np.asarray(_ROOMS)[best // len(_FLOORS)]
        floor = self.floors[best % len(_FLOORS)]
        found: Floats = np.maximum(self.base * room[self.state], floor[self.state])
        return found
