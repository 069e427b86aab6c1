"""Recent maximum: the highest use of the last while, and a margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from prophase.phase.scale.fleet import Fleet
from prophase.phase.scale.past import recent_peak, startup_level
from prophase.phase.scale.policy import Plan, Policy, Scaled

#: in decisions: two hours of one-minute samples decided every five are 24
_WINDOWS = (1, 2, 4, 6, 12, 24, 48)


class RecentMax(Policy):
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
