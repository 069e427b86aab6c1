"""Policies by phase: relative to recent use, or absolute as AI4DL does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.past_use import before, recent_peak, startup_level
from prophase.autoscale.phase_labels import FleetLabeller, HiddenPhases, LevelTrend
from prophase.autoscale.policy import Plan, Scaled, ScalingPolicy, Wish

#: in decisions
_WINDOWS = (1, 2, 4, 8, 16)
#: shares whose quantiles are kept, dense towards 1; the dial is the odds of being enough
_ODDS = np.geomspace(1.0, 1e5, 120)
#: a phase seen less often takes the rises of all phases
_ENOUGH = 200


class PhaseRelative(ScalingPolicy):
    """Give the recent maximum times the rise that the asked share stays under in this phase."""

    name: ClassVar[str] = "phase-relative"
    learns = True
    dials = (1.0, 1e5)
    precision = 0.02

    def __init__(self, *, window: int = 4, labeller: FleetLabeller | None = None) -> None:
        self.window = window
        self.labeller = labeller or LevelTrend()

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        self.labeller.fit(fleet)
        self.floor_ = 1e-3 * float(fleet.use.mean())
        known = np.repeat(fleet.age > 0, fleet.block_length)
        rise = fleet.use / fleet.per_sample(self._recent(fleet))
        phase = np.repeat(self._phase(fleet), fleet.block_length)
        shares = _ODDS / (1 + _ODDS)
        overall = np.quantile(rise[known], shares) if known.any() else np.ones(len(shares))
        self.rises_ = np.array(
            [
                np.quantile(rise[inside], shares)
                if (inside := known & (phase == label)).sum() >= _ENOUGH
                else overall
                for label in range(self._phases())
            ]
        )
        return self

    def plan(self, fleet: Fleet) -> Plan:
        return _Rises(fleet, self._recent(fleet), self._phase(fleet), self.rises_, self.startup_)

    def variants(self) -> Sequence[PhaseRelative]:
        return [type(self)(window=window, labeller=self.labeller) for window in _WINDOWS]

    def settings(self) -> dict[str, float | int | str]:
        return {"window_decisions": self.window}

    def _recent(self, fleet: Fleet) -> Floats:
        return np.maximum(recent_peak(fleet, self.window * fleet.every), self.floor_)

    def _phase(self, fleet: Fleet) -> Ints:
        return np.asarray(before(fleet, self.labeller.labels(fleet)), np.int64)

    def _phases(self) -> int:
        return self.labeller.phases


class PhaseHmm(PhaseRelative):
    """The same with the phases of a hidden Markov model, which take a while to learn."""

    name = "phase-hmm"

    def __init__(self, *, window: int = 16, labeller: FleetLabeller | None = None) -> None:
        super().__init__(window=window, labeller=labeller or HiddenPhases())

    def variants(self) -> Sequence[PhaseRelative]:
        return [self]


class NoPhase(PhaseRelative):
    """The control: the same without phases. What phases add is the difference to this."""

    name = "no-phase"

    def _phase(self, fleet: Fleet) -> Ints:
        return np.zeros(fleet.decisions, np.int64)

    def _phases(self) -> int:
        return 1


@dataclass(frozen=True)
class _Rises(Wish):
    fleet: Fleet
    recent: Floats
    phase: Ints
    #: (phases, odds)
    rises: Floats
    startup: float

    def wanted(self, dial: float) -> Floats:
        rise = np.array([np.interp(np.log(dial), np.log(_ODDS), curve) for curve in self.rises])
        return np.where(self.fleet.age > 0, self.recent * rise[self.phase], self.startup)


class PhaseAbsolute(ScalingPolicy):
    """Give what the asked share of past samples of the phase just seen stayed at or below."""

    name = "phase-absolute"
    learns = True

    def __init__(self, *, labeller: FleetLabeller | None = None) -> None:
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
