"""Static: one allocation for every run, for all its life."""

from __future__ import annotations

from typing import Self

import numpy as np

from prophase.phase.scale.fleet import Fleet, Floats
from prophase.phase.scale.policy import Plan, Policy, Scaled
from prophase.phase.scale.resizing import Hysteresis


class Static(Policy):
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
