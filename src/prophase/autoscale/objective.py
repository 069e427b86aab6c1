"""What a policy is tuned for: a share of samples that is satisfied, or a rate of memory kills."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from prophase.autoscale.allocation_measures import is_memory, satisfied
from prophase.autoscale.fleet import Fleet, Floats, Ints
from prophase.autoscale.memory_kills import KillRule, killed
from prophase.autoscale.policies.vpa import Vpa
from prophase.autoscale.policy import Hysteresis
from prophase.errors import ParameterError

_DAY_S = 86_400.0
#: what policies plan for when kills are counted: not less careful, nor more than can be learnt
_SHARES = (0.9, 0.9995)


@dataclass(frozen=True)
class Objective:
    """What is asked of an allocation.

    Examples
    --------
    >>> print(Objective(0.99)), print(Objective(0.9995, 0.75))
    99 % of samples
    at most 0.75 kills per pod-day
    (None, None)
    """

    #: share of samples with use at or below the allocation; what policies plan for
    share: float
    #: kills per pod-day that are allowed; then the share only guides what is learnt
    kills_per_pod_day: float | None = None
    rule: KillRule = field(default_factory=KillRule)
    #: standard errors that counted kills must lie below what is allowed: other series have more or
    #: fewer, and a dial set to the very count would be exceeded by every other fleet
    caution: float = 1.0

    def __post_init__(self) -> None:
        if not 0.5 <= self.share < 1:
            raise ParameterError(f"target is {self.share}. Pass a share of samples such as 0.99.")
        if self.kills_per_pod_day is not None and not self.kills_per_pod_day >= 0:
            raise ParameterError("kills per pod-day are a number of 0 or more.")

    def __str__(self) -> str:
        if self.kills_per_pod_day is None:
            return f"{100 * self.share:g} % of samples"
        return f"at most {self.kills_per_pod_day:.3g} kills per pod-day"

    def is_met(self, fleet: Fleet, allocation: Floats) -> bool:
        """Return whether an allocation per decision does as asked."""
        if self.kills_per_pod_day is None:
            return satisfied(fleet, allocation, self.rule) >= self.share
        most = self.kills_per_pod_day * fleet.samples * fleet.step_s / _DAY_S
        kills = killed(fleet, allocation, self.rule, most=most).kills
        return len(kills) + self.caution * _standard_error(fleet, kills) <= most

    def exactly(self) -> Objective:
        """Return the same without caution: what a policy is asked that is not tuned."""
        return replace(self, caution=0.0)


def _standard_error(fleet: Fleet, kills: Ints) -> float:
    """Return how much the number of kills differs on other series like these.

    Kills of one series come together, so series are counted as wholes; and not fewer than by chance
    alone.
    """
    run = np.searchsorted(fleet.run_start, kills, side="right") - 1
    _, series = np.unique(fleet.series_id, return_inverse=True)
    each = np.bincount(series[run], minlength=series.max() + 1)
    share = np.bincount(series, fleet.lengths) / fleet.samples
    apart = float(((each - len(kills) * share) ** 2).sum())
    return math.sqrt(max(apart, len(kills)))


def objective_of(target: float | Objective) -> Objective:
    """Return an objective as it is, or that of a share of samples."""
    return target if isinstance(target, Objective) else Objective(target)


def kill_objective(
    fleet: Fleet, kills_per_pod_day: float | None = None, rule: KillRule | None = None
) -> Objective:
    """Return the objective of a rate of kills: the given one, or that of VPA on these series."""
    if not is_memory(fleet.metric):
        raise ParameterError(
            f"{fleet.metric} kills nobody when it runs out: ask for a share of samples instead."
        )
    rule = rule or KillRule()
    if kills_per_pod_day is None:
        vpa = Vpa().fit(fleet, 0.99).plan(fleet).allocate(1.0, Hysteresis())
        kills_per_pod_day = killed(fleet, vpa, rule).per_pod_day
    share = 1 - kills_per_pod_day * fleet.step_s / _DAY_S
    return Objective(float(np.clip(share, *_SHARES)), kills_per_pod_day, rule)


def usual_objective(fleet: Fleet) -> Objective:
    """Return what is asked if nothing is: of memory VPA's kill rate, else 99 % of samples."""
    return kill_objective(fleet) if is_memory(fleet.metric) else Objective(0.99)
