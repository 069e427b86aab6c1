"""What a scaling policy is: it plans allocations from the past, without needless resizes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from prophase.autoscale.fleet import Fleet, Floats
from prophase.errors import ParameterError


@dataclass(frozen=True)
class Hysteresis:
    """How far the wanted allocation may lie from the current one before it is changed."""

    #: share by which more must be wanted before the allocation rises: the least step upwards
    up: float = 0.0
    #: share by which less must be wanted before it falls. Larger means fewer resizes and a larger
    #: allocation
    down: float = 0.0

    def __post_init__(self) -> None:
        if self.up < 0 or not 0 <= self.down < 1:
            raise ParameterError(
                f"hysteresis: up is {self.up} and down is {self.down}. Pass shares from 0 on; "
                "down lies below 1."
            )


def held(fleet: Fleet, wanted: Floats, rule: Hysteresis) -> Floats:
    """Return the allocation of each decision: the wanted one, or the one before it if near.

    Examples
    --------
    >>> fleet = Fleet.of_runs([[1.0] * 4], every=1)
    >>> held(fleet, np.array([10.0, 9.5, 10.2, 7.0]), Hysteresis(up=0.05, down=0.1)).tolist()
    [10.0, 10.0, 10.0, 7.0]
    """
    if rule.up == 0 and rule.down == 0:
        return wanted
    order = fleet.wave_order
    chosen = wanted[order]
    for wave, before in fleet.in_waves():
        current, now = chosen[before], chosen[wave]
        near = (now <= current * (1 + rule.up)) & (now >= current * (1 - rule.down))
        np.copyto(now, current, where=near)
    found = np.empty_like(chosen)
    found[order] = chosen
    return found


# What a policy is: it learns from fit series, then plans allocations from the past alone.
#
# A plan has one dial that raises the allocation. Everything that is costly is done once, when
# the plan is made; the dial is then turned until the fit series are satisfied as often as asked.


#: hysteresis to choose from; the one with the least allocation within the allowed resizes wins
HYSTERESES = (
    Hysteresis(),
    Hysteresis(0.0, 0.03),
    Hysteresis(0.0, 0.08),
    Hysteresis(0.0, 0.15),
    Hysteresis(0.0, 0.25),
    Hysteresis(0.01, 0.03),
    Hysteresis(0.01, 0.08),
    Hysteresis(0.02, 0.15),
)


AnyPlan = TypeVar("AnyPlan", bound="Plan", covariant=True)


class Plan(ABC):
    """The allocations of a fleet as a function of one dial."""

    @abstractmethod
    def allocate(self, dial: float, rule: Hysteresis) -> Floats:
        """Return the allocation per decision."""

    @classmethod
    @abstractmethod
    def joined(cls, fleet: Fleet, parts: Sequence[Part[Self]]) -> Plan:
        """Return plans of parts of a fleet as one plan of the whole."""


@dataclass(frozen=True)
class Part(Generic[AnyPlan]):
    """A plan for some series of a fleet."""

    #: (decisions of the fleet,) which of them it plans
    inside: NDArray[np.bool_]
    plan: AnyPlan


def scattered(parts: Sequence[tuple[NDArray[np.bool_], Floats]]) -> Floats:
    """Return an array of a whole fleet from arrays of parts of it, which come first by decision."""
    inside, first = parts[0]
    whole = np.empty((len(inside), *first.shape[1:]))
    for inside, values in parts:
        whole[inside] = values
    return whole


class Wish(Plan):
    """A plan that knows what it wants at each decision, whatever is given right now."""

    fleet: Fleet

    @abstractmethod
    def wanted(self, dial: float) -> Floats:
        """Return what is wanted per decision."""

    def allocate(self, dial: float, rule: Hysteresis) -> Floats:
        return held(self.fleet, self.wanted(dial), rule)

    @classmethod
    def joined(cls, fleet: Fleet, parts: Sequence[Part[Self]]) -> Plan:
        return _Wishes(fleet, parts)


@dataclass(frozen=True)
class _Wishes(Wish):
    fleet: Fleet
    parts: Sequence[Part[Wish]]

    def wanted(self, dial: float) -> Floats:
        return scattered([(part.inside, part.plan.wanted(dial)) for part in self.parts])


class ScalingPolicy(ABC):
    """Decide allocations every few samples, from the past of the same run only."""

    #: how a report calls it
    name: ClassVar[str]
    #: whether it learns something from fit series that could be learned by heart
    learns: ClassVar[bool] = False
    #: numbers that `fit` learns and earlier versions did not: a file without them is refused
    learnt: ClassVar[tuple[str, ...]] = ()
    #: whether it gives more to a run that was given too little before, and the other way round
    corrects: ClassVar[bool] = False
    #: least and greatest setting of the dial
    dials: ClassVar[tuple[float, float]] = (0.3, 30.0)
    #: share of the dial that makes no difference
    precision: ClassVar[float] = 1e-3
    #: whether the dial is turned; policies that are judged as they are keep it at 1
    tuned: ClassVar[bool] = True
    #: hystereses to choose from
    hystereses: ClassVar[tuple[Hysteresis, ...]] = HYSTERESES

    @abstractmethod
    def fit(self, fleet: Fleet, target: float) -> Self:
        """Learn from fit series, for a share of samples that shall be satisfied."""

    @abstractmethod
    def plan(self, fleet: Fleet) -> Plan:
        """Return the allocations of a fleet, of which each looks back only."""

    def variants(self) -> Sequence[ScalingPolicy]:
        """Return the same policy with other settings, to choose from on the fit series."""
        return [self]

    def settings(self) -> dict[str, float | int | str]:
        """Return what was chosen, for a report."""
        return {}


@dataclass(frozen=True)
class Scaled(Wish):
    """An allocation known up to a factor: the dial."""

    fleet: Fleet
    #: (decisions,)
    base: Floats
    #: given to a run of which nothing is known yet
    startup: float

    def wanted(self, dial: float) -> Floats:
        return np.where(self.fleet.age > 0, self.base * dial, self.startup)
