"""Oracle: what would be enough, had one known. No policy, but the bound to compare with."""

from __future__ import annotations

from typing import Self

from prophase.phase.scale.fleet import Fleet, Floats
from prophase.phase.scale.policy import Plan, Policy
from prophase.phase.scale.resizing import Hysteresis


class Oracle(Policy):
    """Give the highest use until the next decision. It looks ahead, so nobody can run it."""

    name = "oracle"
    tuned = False
    hystereses = (Hysteresis(),)

    def fit(self, fleet: Fleet, target: float) -> Self:
        return self

    def plan(self, fleet: Fleet) -> Plan:
        return _Known(fleet.block_peak())


class _Known(Plan):
    def __init__(self, peak: Floats) -> None:
        self.peak = peak

    def allocate(self, dial: float, rule: Hysteresis) -> Floats:
        return self.peak
