"""Period-aware: what the same time of earlier days needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats
from prophase.autoscale.past_use import recent_peak, startup_level, windowed
from prophase.autoscale.policy import Plan, Scaled, ScalingPolicy

_DAY_S = 86_400.0
#: days looked back on, with a day weighing less the older it is
_DAYS = 3


class PeriodAware(ScalingPolicy):
    """Give the larger of the recent maximum and what earlier days used at this time of day.

    A run younger than a day has no earlier days: then it is the recent maximum.
    """

    name = "period-daily"

    def __init__(self, *, window: int = 4) -> None:
        self.window = window

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        return self

    def plan(self, fleet: Fleet) -> Plan:
        recent = recent_peak(fleet, self.window * fleet.every)
        return Scaled(fleet, np.maximum(recent, earlier_days(fleet)), self.startup_)

    def variants(self) -> Sequence[PeriodAware]:
        return [PeriodAware(window=window) for window in (1, 4, 16)]

    def settings(self) -> dict[str, float | int | str]:
        return {"window_decisions": self.window}


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
