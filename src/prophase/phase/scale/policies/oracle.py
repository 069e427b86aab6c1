"""Oracle: what would be enough, had one known. No policy, but the bound to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from prophase.phase.scale.fleet import Fleet, Floats
from prophase.phase.scale.policy import Plan, Policy, Wish
from prophase.phase.scale.resizing import Hysteresis


class Oracle(Policy):
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
