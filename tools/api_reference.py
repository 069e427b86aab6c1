"""Pages about the Python interface: one per area, every name that its packages offer."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

#: what an area is for, in the order of the reference
AREAS = {
    "trace": "Traces: read, check, describe, split and make them",
    "profile": "Profiles and predictions: know a job before it runs",
    "phase": "Phases: what a container does, and what it needs next",
    "sizing": "Sizing: what a task should ask for",
    "autoscale": "Autoscaling: what a container should hold next",
    "sim": "Simulation and queueing theory",
    "study": "Studies: the parts in one loop",
    "runs": "Runs: measure real runs",
    "papers": "Papers: published results, repeated",
    "plots": "Figures and pages",
    "integrations": "Other systems",
    "serve": "Service",
    "stats": "Intervals: how sure a number is",
    "units": "Units: how amounts are read and written",
    "result": "Results: how an answer is told",
}
#: modules without a package of their own that users meet
_MODULES = {
    "trace": ["schema", "reader", "dump", "engine"],
    "phase": ["crbm", "next_phase", "phase_expansion", "novelty", "stays", "prototypes",
              "augmentation", "phase_changes"],
    "autoscale": ["policy", "fleet", "tuned_policy", "policy_comparison"],
    "sim": ["theory_comparison"],
    "runs": ["measured_rows", "recommended_ladders", "retried_command", "end_cause",
             "attempt_rows"],
    "papers": ["claims", "sources"],
    "plots": ["result_files", "schedule_figures"],
    "integrations": ["airflow_sizing", "spark"],
}  # fmt: skip


def api_pages() -> dict[str, str]:
    """Return the pages by file name; an area that offers nothing has none."""
    pages = {"api-front-door.md": front_door_page()}
    for area, title in AREAS.items():
        described: set[int] = set()
        parts = [part for module in _modules(area) for part in _described(module, described)]
        if parts:
            pages[f"api-{area}.md"] = "\n".join([f"# {title}\n", *parts])
    return pages


def front_door_page() -> str:
    """Describe the names of ``import prophase as ph``: questions in their order, then classes."""
    front = importlib.import_module("prophase")
    asked = importlib.import_module("prophase._front")
    questions = [name for name in vars(asked) if name in front.__all__]
    parts = ["# Front door: `import prophase as ph`\n"]
    parts.append("What is promised of these names is on the page [Stability](stability.md).\n")
    parts.append("```{eval-rst}")
    for name in questions:
        # prophase.study is a package that can be called
        home = "prophase._front" if name == "study" else "prophase"
        parts.append(f".. autofunction:: {home}.{name}")
    for name in sorted(set(front.__all__) - set(questions)):
        # their home is the page of their own package
        parts += [*_directive(front, name), "   :no-index:"]
    return "\n".join([*parts, "```\n"])


def public_names() -> dict[str, list[str]]:
    """Return what each package and module of the reference offers."""
    return {module.__name__: _offered(module) for area in AREAS for module in _modules(area)}


def _modules(area: str) -> Iterator[ModuleType]:
    try:
        top = importlib.import_module(f"prophase.{area}")
    except ModuleNotFoundError:
        return
    yield top
    for found in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
        if found.ispkg:
            module = importlib.import_module(found.name)
            if hasattr(module, "__all__"):
                yield module
    for name in _MODULES.get(area, []):
        yield importlib.import_module(f"prophase.{area}.{name}")


def _offered(module: ModuleType) -> list[str]:
    named = getattr(module, "__all__", None)
    if named is not None:
        return list(named)
    if hasattr(module, "__path__"):
        return []
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def _described(module: ModuleType, before: set[int]) -> Iterator[str]:
    """Describe what a module offers and no page before it did."""
    names = [name for name in _offered(module) if id(getattr(module, name)) not in before]
    before.update(id(getattr(module, name)) for name in names)
    if not names:
        return
    yield f"## `{module.__name__}`\n"
    if module.__doc__:
        yield inspect.cleandoc(module.__doc__).replace("::", ":") + "\n"
    yield "```{eval-rst}"
    for name in names:
        yield from _directive(module, name)
    yield "```\n"


def _directive(module: ModuleType, name: str) -> Iterator[str]:
    value, path = getattr(module, name), f"{module.__name__}.{name}"
    if inspect.isclass(value):
        yield f".. autoclass:: {path}"
        yield "   :members:"
        # a class that holds itself, as in the original of ai4dl, would never end
        yield f"   :exclude-members: {name}"
    elif inspect.isroutine(value):
        yield f".. autofunction:: {path}"
    else:
        yield f".. py:data:: {path}"
