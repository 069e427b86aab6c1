"""Policies by phase: relative to recent use, or absolute as AI4DL does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.past_use import before, recent_peak, startup_level
from prophase.autoscale.phase_labels import phases_of
from prophase.autoscale.policy import Plan, Scaled, ScalingPolicy, Wish

#: in decisions
WINDOWS = (1, 2, 4, 8, 16)
#: shares whose quantiles are kept, dense towards 1; the dial is the odds of being enough
ODDS = np.geomspace(1.0, 1e5, 120)
#: a phase seen less often takes the rises of all phases
_ENOUGH = 200


class PhaseRelative(ScalingPolicy):
    """Give the recent maximum times the rise that the asked share stays under in this phase."""

    name: ClassVar[str] = "phase-relative"
    learns = True
    dials = (1.0, 1e5)
    precision = 0.02

    def __init__(self, *, window: int = 4) -> None:
        self.window = window

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        self.floor_ = 1e-3 * float(fleet.use.mean())
        known = np.repeat(fleet.age > 0, fleet.block_length)
        rise = fleet.use / fleet.per_sample(self._recent(fleet))
        labels, phases = self._phase(fleet)
        phase = np.repeat(labels, fleet.block_length)
        self.rises_ = rises_by(rise[known], phase[known], phases, enough=_ENOUGH)
        return self

    def plan(self, fleet: Fleet) -> Plan:
        phase, _ = self._phase(fleet)
        return _Rises(fleet, self._recent(fleet), phase, self.rises_, self.startup_)

    def variants(self) -> Sequence[PhaseRelative]:
        return [type(self)(window=window) for window in WINDOWS]

    def settings(self) -> dict[str, float | int | str]:
        return {"window_decisions": self.window}

    def _recent(self, fleet: Fleet) -> Floats:
        return np.maximum(recent_peak(fleet, self.window * fleet.every), self.floor_)

    def _phase(self, fleet: Fleet) -> tuple[Ints, int]:
        """Return the phase before each decision, and how many there are."""
        labels, phases = phases_of(fleet)
        return np.asarray(before(fleet, labels), np.int64), phases


def rises_by(rise: Floats, label: Ints, labels: int, *, enough: int) -> Floats:
    """Return quantiles of rises at the shares of `ODDS`, a row per label.

    A label seen less often than ``enough`` takes those of all.
    """
    shares = ODDS / (1 + ODDS)
    overall = np.quantile(rise, shares) if len(rise) else np.ones(len(shares))
    return np.array(
        [
            np.quantile(rise[inside], shares)
            if (inside := label == one).sum() >= enough
            else overall
            for one in range(labels)
        ]
    )


def rise_at(odds: Floats | float, curve: Floats) -> Floats:
    """Return the rise that is enough at these odds."""
    found: Floats = np.interp(np.log(odds), np.log(ODDS), curve)
    return found


class NoPhase(PhaseRelative):
    """The control: the same without phases. What phases add is the difference to this."""

    name = "no-phase"

    def _phase(self, fleet: Fleet) -> tuple[Ints, int]:
        return np.zeros(fleet.decisions, np.int64), 1


@dataclass(frozen=True)
class _Rises(Wish):
    fleet: Fleet
    recent: Floats
    phase: Ints
    #: (phases, odds)
    rises: Floats
    startup: float

    def wanted(self, dial: float) -> Floats:
        rise = np.array([rise_at(dial, curve) for curve in self.rises])
        return np.where(self.fleet.age > 0, self.recent * rise[self.phase], self.startup)


class PhaseAbsolute(ScalingPolicy):
    """Give what the asked share of past samples of the phase just seen stayed at or below."""

    name = "phase-absolute"
    learns = True

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        labels, phases = phases_of(fleet)
        overall = float(np.quantile(fleet.use, target))
        self.level_ = np.array(
            [
                float(np.quantile(fleet.use[labels == phase], target))
                if (labels == phase).sum() >= 20
                else overall
                for phase in range(phases)
            ]
        )
        return self

    def plan(self, fleet: Fleet) -> Plan:
        phase: Ints = np.asarray(before(fleet, phases_of(fleet)[0]), np.int64)
        return Scaled(fleet, self.level_[phase], self.startup_)
