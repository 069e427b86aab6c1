"""Holt's exponential smoothing with a damped trend: the classical forecaster to beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from prophase.autoscale.fleet import Fleet, Floats
from prophase.autoscale.past_use import before, startup_level
from prophase.autoscale.policy import Plan, ScalingPolicy, Wish

#: share of the trend that is left after each sample (Gardner and McKenzie 1985)
_DAMPING = 0.9
#: how fast the usual error forgets
_ERROR = 0.05


class Holt(ScalingPolicy):
    """Give the highest that level and trend forecast, plus a multiple of the usual error.

    Parameters
    ----------
    level, trend : float
        How fast the level follows the samples, and the trend the level.
    """

    name = "holt"

    def __init__(self, *, level: float = 0.3, trend: float = 0.1) -> None:
        self.level, self.trend = level, trend

    def fit(self, fleet: Fleet, target: float) -> Self:
        self.startup_ = startup_level(fleet, target)
        self.least_ = 1e-3 * (float(fleet.use.mean()) or 1.0)
        return self

    def plan(self, fleet: Fleet) -> Plan:
        level, trend, error = smoothed(fleet, self.level, self.trend)
        # the damped trend adds up over the interval; one that falls counts from its beginning
        ahead = _DAMPING * (1.0 - _DAMPING**fleet.every) / (1.0 - _DAMPING)
        expected = level + np.maximum(trend * _DAMPING, trend * ahead)
        return _Expected(fleet, np.maximum(expected, 0.0), error + self.least_, self.startup_)

    def variants(self) -> Sequence[Holt]:
        return [Holt(level=a, trend=b) for a in (0.1, 0.3, 0.7) for b in (0.0, 0.1)]

    def settings(self) -> dict[str, float | int | str]:
        return {"level": self.level, "trend": self.trend}


@dataclass(frozen=True)
class _Expected(Wish):
    fleet: Fleet
    #: (decisions,) forecast, and usual error of a forecast of one sample
    expected: Floats
    error: Floats
    startup: float

    def wanted(self, dial: float) -> Floats:
        return np.where(self.fleet.age > 0, self.expected + dial * self.error, self.startup)


def smoothed(fleet: Fleet, level: float, trend: float) -> tuple[Floats, Floats, Floats]:
    """Return level, trend and usual absolute error as known right before each decision.

    Examples
    --------
    >>> fleet = Fleet.of_runs([[2.0] * 6], every=3)
    >>> [float(part[1]) for part in smoothed(fleet, 0.3, 0.1)]
    [2.0, 0.0, 0.0]
    """
    found = np.empty((3, fleet.samples))
    for run in fleet.runs():
        use = fleet.use[run].tolist()
        now, slope, error = use[0], 0.0, 0.0
        rows = []
        for value in use:
            miss = value - (now + _DAMPING * slope)
            raised = now + _DAMPING * slope + level * miss
            slope = _DAMPING * slope + trend * (raised - now - _DAMPING * slope)
            error += _ERROR * (abs(miss) - error)
            now = raised
            rows.append((now, slope, error))
        found[:, run] = np.array(rows).T
    return tuple(np.asarray(before(fleet, part), np.float64) for part in found)  # type: ignore[return-value]
