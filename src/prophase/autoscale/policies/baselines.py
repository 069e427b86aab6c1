"""Policies to beat: one allocation for all, the recent maximum, earlier days, and the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats
from prophase.autoscale.past_use import recent_peak, startup_level, windowed
from prophase.autoscale.policy import Hysteresis, Plan, Scaled, ScalingPolicy, Wish


class Static(ScalingPolicy):
    """Give every run what the asked share of past samples stayed at or below."""

    name = "static"
    hystereses = (Hysteresis(),)

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.level_ = float(np.quantile(fleet.use, target))
        return self

    def plan(self, fleet: Fleet) -> Plan:
        # a run keeps what it starts with, so the start is scaled like the rest
        return _Level(fleet, np.full(fleet.decisions, self.level_), self.level_)


class _Level(Scaled):
    def wanted(self, dial: float) -> Floats:
        return self.base * dial


class RecentMax(ScalingPolicy):
    """Give what was used at most in the last ``window`` decisions, times a margin."""

    name: ClassVar[str] = "recent-max"
    #: in decisions: two hours of one-minute samples decided every five are 24
    windows: ClassVar[tuple[int, ...]] = (1, 2, 4, 6, 12, 24, 48)

    def __init__(self, *, window: int = 12) -> None:
        self.window = window

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        return self

    def plan(self, fleet: Fleet) -> Plan:
        return Scaled(fleet, recent_peak(fleet, self.window * fleet.every), self.startup_)

    def variants(self) -> Sequence[RecentMax]:
        return [type(self)(window=window) for window in self.windows]

    def settings(self) -> dict[str, float | int | str]:
        return {"window_decisions": self.window}


class PeakHold(RecentMax):
    """Give the highest use of a long past, and to a young run not less than runs start with.

    Memory that runs out kills, and most kills are of runs that have just begun and still grow. So
    a run keeps what it starts with for a while, whatever it uses so far.
    """

    name = "peak-hold"
    #: in decisions; the last one is longer than any run
    windows = (12, 48, 288, 100_000)
    #: hours that a run counts as young
    patience_hours: ClassVar[tuple[float, ...]] = (0.0, 1.0, 4.0, 12.0)

    def __init__(self, *, window: int = 288, patience_h: float = 4.0) -> None:
        super().__init__(window=window)
        self.patience_h = patience_h

    def plan(self, fleet: Fleet) -> Plan:
        window = min(self.window * fleet.every, int(fleet.lengths.max()))
        peak = recent_peak(fleet, window)
        young = fleet.age * fleet.step_s < 3600 * self.patience_h
        return Scaled(fleet, np.where(young, np.maximum(peak, self.startup_), peak), self.startup_)

    def variants(self) -> Sequence[PeakHold]:
        return [
            type(self)(window=window, patience_h=hours)
            for window in self.windows
            for hours in self.patience_hours
        ]

    def settings(self) -> dict[str, float | int | str]:
        return {"window_decisions": self.window, "patience_hours": self.patience_h}


class Oracle(ScalingPolicy):
    """Give the highest use until the next decision. It looks ahead, so nobody can run it."""

    name = "oracle"
    tuned = False
    hystereses = (Hysteresis(),)

    def fit(self, fleet: Fleet, target: float) -> Self:
        return self

    def plan(self, fleet: Fleet) -> Plan:
        return _Known(fleet)


@dataclass(frozen=True)
class _Known(Wish):
    fleet: Fleet

    def wanted(self, dial: float) -> Floats:
        return self.fleet.block_peak()


_DAY_S = 86_400.0
#: days looked back on, with a day weighing less the older it is
_DAYS = 3


class PeriodAware(RecentMax):
    """Give the larger of the recent maximum and what earlier days used at this time of day.

    A run younger than a day has no earlier days: then it is the recent maximum.
    """

    name = "period-daily"
    windows = (1, 4, 16)

    def __init__(self, *, window: int = 4) -> None:
        super().__init__(window=window)

    def plan(self, fleet: Fleet) -> Plan:
        recent = recent_peak(fleet, self.window * fleet.every)
        return Scaled(fleet, np.maximum(recent, earlier_days(fleet)), self.startup_)


def earlier_days(fleet: Fleet) -> Floats:
    """Return the mean over earlier days of the peak in the same interval; 0 without such days.

    The interval is widened by one decision to both sides, as nobody is punctual to the minute.
    """
    day = round(_DAY_S / fleet.step_s)
    width = 3 * fleet.every
    peak = windowed(fleet, width)
    total, seen = np.zeros(fleet.decisions), np.zeros(fleet.decisions)
    for back in range(1, _DAYS + 1):
        # the last sample of the widened interval, so many days ago
        offset = 2 * fleet.every - 1 - back * day
        inside = (offset < 0) & (fleet.age + offset >= 0)
        at = np.where(inside, fleet.first_sample + offset, 0)
        total += np.where(inside, peak[at], 0.0)
        seen += inside
    return total / np.maximum(seen, 1)
