"""What pages show that takes long to compute; every function runs in a process of its own.

A function takes the folder of the workspace, arguments that a route has checked, and
``progress(step, percent)``; it returns what JSON can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

Progress = Callable[[str, float | None], None]

#: view -> module:function
VIEWS = {
    "overview": "overview:overview",
    "sizing": "sizing:sizing",
    "policies": "simulator:policies",
    "why": "simulator:causes",
    "phases": "phases:phases",
    "series": "phases:series",
    "profile-context": "profiles:context",
    "profile-reasons": "profiles:reasons",
}


def page_data(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> Any:
    """Compute the data of one view."""
    module, _, name = VIEWS[arguments["view"]].partition(":")
    work = getattr(import_module(f"prophase.serve.pages.work.{module}"), name)
    return work(folder, arguments["arguments"], progress)
