"""Find policies by name: the function that bears the name of its file.

A place policy's file may also hold ``choose_gpu`` (compiled to ``CHOOSE_GPU``), ``prepare``
(returns the policy's facts), ``PURE = False`` (its scores change without a node changing),
``LOTS = True`` (its score is a draw from 0 to 1, whatever the node) and ``FILL = True`` (a gang
packs a node full before it takes the next).

An order is either plain NumPy, a key per job of the workload, or *moves*: compiled to ``KEY``,
with ``refresh`` (compiled to ``REFRESH``), ``prepare`` (returns its facts), ``RESORT = True``
(a start changes keys), ``STILL = True`` (a job that waits keeps its key), ``ALIKE`` (the keys of
running jobs move alike, by "time", by "work", which needs one speed for all, or by "gpu_time",
among jobs of as many GPUs, so that they stay in order), ``jumps`` (the seconds run at which the
key of each job jumps nevertheless), ``REKEY_S`` (seconds between two looks at keys) and ``CHARGE``
(what usage is counted in) beside it.

Another package offers policies of its own by entry points: groups ``prophase.orders`` and
``prophase.places``, the policy's name, and the module that holds it.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import signature
from types import ModuleType
from typing import Any, TypeVar

from prophase.errors import ParameterError, not_among
from prophase.sim import order as orders_folder
from prophase.sim import place as places_folder
from prophase.sim.cluster import Cluster
from prophase.sim.place.tightest_gpu import tightest_gpu
from prophase.sim.signatures import Floats, Ints
from prophase.sim.static_loop import PlaceSettings
from prophase.sim.workload import Workload


@dataclass(frozen=True)
class PlacePolicy:
    """How nodes are rated, and what the rating needs."""

    name: str
    score: Callable[..., float]
    choose_gpu: Callable[..., int]
    #: (requests of all jobs, cluster, seed) -> facts
    prepare: Callable[[Ints, Cluster, int], Floats] | None
    pure: bool
    fill: bool
    lots: bool

    def settings(self, asks: Ints, cluster: Cluster, seed: int) -> PlaceSettings:
        """Return the policy with its facts for one replay."""
        facts = self.prepare(asks, cluster, seed) if self.prepare else None
        return PlaceSettings(
            self.score, self.choose_gpu, facts, pure=self.pure, lots=self.lots, fill=self.fill
        )


@dataclass(frozen=True)
class OrderPolicy:
    """Who goes first, and what finding that out needs."""

    name: str
    #: a function of the workload and options, or, if it moves, compiled to ``KEY``
    key: Callable[..., Any]
    moves: bool
    refresh: Callable[..., None] | None = None
    #: (workload, cluster, owners, options) -> facts
    prepare: Callable[..., Floats] | None = None
    resort: bool = False
    still: bool = False
    #: "time", "work", "gpu_time", or "" if the keys of running jobs do not move alike
    alike: str = ""
    #: (workload, facts) -> seconds run at which each job's key jumps
    jumps: Callable[[Workload, Floats], Floats] | None = None
    rekey_s: float = 0.0
    #: what usage is counted in: "gpus", "cores", or "auto" for GPUs where there are any
    charge: str = "auto"

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse options that the order does not have."""
        maker = self.prepare if self.moves else self.key
        known = [
            name
            for name, one in (inspect.signature(maker).parameters if maker else {}).items()
            if one.kind is inspect.Parameter.KEYWORD_ONLY
        ] + (["rekey_s", "charge", "by"] if self.moves else [])
        for name in options:
            if name not in known:
                said = f"order {self.name} has no option {name!r}."
                raise ParameterError(not_among(said, name, known))


Policy = TypeVar("Policy")


class Policies(Mapping[str, Policy]):
    """Policies by name; a file is imported, with its compiled code, when it is first asked for."""

    def __init__(
        self, folder: ModuleType, group: str, made_of: Callable[[str, ModuleType], Policy]
    ) -> None:
        found = pkgutil.iter_modules(folder.__path__)
        homes = {point.name: point.value for point in entry_points(group=group)} | {
            file.name: f"{folder.__name__}.{file.name}"
            for file in found
            if file.name != tightest_gpu.__name__
        }
        self._names = sorted(homes)
        self._load = cache(lambda name: made_of(name, import_module(homes[name])))

    def __getitem__(self, name: str) -> Policy:
        if name not in self._names:
            raise KeyError(name)
        return self._load(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def order_policies() -> Mapping[str, OrderPolicy]:
    """Return every order policy by name."""
    return Policies(orders_folder, "prophase.orders", _order_policy)


@cache
def place_policies() -> Mapping[str, PlacePolicy]:
    """Return every place policy by name."""
    return Policies(places_folder, "prophase.places", _place_policy)


def named(name: str, known: Mapping[str, Any], what: str) -> Any:
    """Return the policy of that name, or say which there are."""
    if name not in known:
        raise ParameterError(not_among(f"{what} {name!r} is unknown.", name, known))
    return known[name]


def _order_policy(name: str, module: ModuleType) -> OrderPolicy:
    return OrderPolicy(
        name,
        getattr(module, name),
        "owners" in signature(getattr(module, name)).parameters,
        getattr(module, "refresh", None),
        getattr(module, "prepare", None),
        getattr(module, "RESORT", False),
        getattr(module, "STILL", False),
        getattr(module, "ALIKE", ""),
        getattr(module, "jumps", None),
        getattr(module, "REKEY_S", 0.0),
        getattr(module, "CHARGE", "auto"),
    )


def _place_policy(name: str, module: ModuleType) -> PlacePolicy:
    return PlacePolicy(
        name,
        getattr(module, name),
        getattr(module, "choose_gpu", tightest_gpu),
        getattr(module, "prepare", None),
        getattr(module, "PURE", True),
        getattr(module, "FILL", False),
        getattr(module, "LOTS", False),
    )
