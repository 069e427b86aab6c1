"""Absolute per phase, as AI4DL does: what past samples of the same phase used."""

from __future__ import annotations

from typing import Self

import numpy as np

from prophase.phase.scale.fleet import Fleet, Ints
from prophase.phase.scale.labels import Labeller, LevelTrend
from prophase.phase.scale.past import before, startup_level
from prophase.phase.scale.policy import Plan, Policy, Scaled


class PhaseAbsolute(Policy):
    """Give what the asked share of past samples of the phase just seen stayed at or below."""

    name = "phase-absolute"
    learns = True

    def __init__(self, *, labeller: Labeller | None = None) -> None:
        self.labeller = labeller or LevelTrend()

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        labels = self.labeller.fit(fleet).labels(fleet)
        overall = float(np.quantile(fleet.use, target))
        self.level_ = np.array(
            [
                float(np.quantile(fleet.use[labels == phase], target))
                if (labels == phase).sum() >= 20
                else overall
                for phase in range(self.labeller.phases)
            ]
        )
        return self

    def plan(self, fleet: Fleet) -> Plan:
        phase: Ints = np.asarray(before(fleet, self.labeller.labels(fleet)), np.int64)
        return Scaled(fleet, self.level_[phase], self.startup_)
