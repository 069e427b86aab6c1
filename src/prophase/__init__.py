"""Prophase: know what ML jobs on a shared cluster need, and prove it on your own history.

>>> import prophase as ph
>>> trace = ph.synth("pai", jobs=300, days=2.0)  # or ph.read("my-workspace")
>>> schedule = ph.simulate(trace, "20x8")

These names are stable (see the page Stability of the documentation); everything else may change.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from prophase.lazy_imports import lazy_names
from prophase.version import __version__ as __version__

if TYPE_CHECKING:
    from prophase._front import (
        ask,
        describe,
        learn,
        prove,
        read,
        simulate,
        size,
        study,
        synth,
        why,
    )
    from prophase.sim.cluster import Cluster
    from prophase.sim.workload import Workload
    from prophase.stats.estimate import Estimate

_HOMES = {
    "Cluster": "sim.cluster",
    "Estimate": "stats.estimate",
    "Workload": "sim.workload",
    "ask": "_front",
    "describe": "_front",
    "learn": "_front",
    "prove": "_front",
    "read": "_front",
    "simulate": "_front",
    "size": "_front",
    "study": "_front",
    "synth": "_front",
    "why": "_front",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Cluster",
    "Estimate",
    "Workload",
    "ask",
    "describe",
    "learn",
    "prove",
    "read",
    "simulate",
    "size",
    "study",
    "synth",
    "why",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _StudyPackage(ModuleType):
    """The package ``prophase.study``, which is also the function ``ph.study``."""

    def __call__(self, *given: Any, **settings: Any) -> Any:
        from prophase._front import study as run

        return run(*given, **settings)


class _FrontDoor(ModuleType):
    """The package ``prophase``: importing a part of it hides no name that it offers."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "study" and isinstance(value, ModuleType):
            value.__class__ = _StudyPackage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor
