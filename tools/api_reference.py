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
    "sim": "Simulation and queueing theory",
    "runs": "Runs: measure real runs",
    "study": "Studies: the parts in one loop",
    "plots": "Figures and pages",
    "integrations": "Other systems",
    "serve": "Service",
}
#: modules without a package of their own that users meet
_MODULES = {
    "trace": ["schema", "check", "reader", "dump", "sheet", "engine"],
    "phase": ["crbm", "hmm", "choosing", "forecast", "expanding", "novelty", "stays",
              "prototypes", "augment", "watching", "tail"],
    "sim": ["statistics", "measures.curves", "comparison", "presets.pai",
            "presets.openb"],
    "runs": ["export", "ladder", "retry"],
    "plots": ["schedule_page", "schedule_figures"],
    "integrations": ["prometheus"],
}  # fmt: skip


def api_pages() -> dict[str, str]:
    """Return the pages by file name; an area that offers nothing has none."""
    pages = {}
    for area, title in AREAS.items():
        described: set[int] = set()
        parts = [part for module in _modules(area) for part in _described(module, described)]
        if parts:
            pages[f"api-{area}.md"] = "\n".join([f"# {title}\n", *parts])
    return pages


def public_names() -> dict[str, list[str]]:
    """Return what each package and module of the reference offers."""
    return {module.__name__: _offered(module) for area in AREAS for module in _modules(area)}


def _modules(area: str) -> Iterator[ModuleType]:
    top = importlib.import_module(f"prophase.{area}")
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
