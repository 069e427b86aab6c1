"""Policies to beat: one allocation for all, the recent maximum, and the oracle's bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats
from prophase.autoscale.past_use import recent_peak, startup_level
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


#: in decisions: two hours of one-minute samples decided every five are 24
_WINDOWS = (1, 2, 4, 6, 12, 24, 48)


class RecentMax(ScalingPolicy):
    """Give what was used at most in the last ``window`` decisions, times a margin."""

    name = "recent-max"

    def __init__(self, *, window: int = 12) -> None:
        self.window = window

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        return self

    def plan(self, fleet: Fleet) -> Plan:
        return Scaled(fleet, recent_peak(fleet, self.window * fleet.every), self.startup_)

    def variants(self) -> Sequence[RecentMax]:
        return [RecentMax(window=window) for window in _WINDOWS]

    def settings(self) -> dict[str, float | int | str]:
        return {"window_decisions": self.window}


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
