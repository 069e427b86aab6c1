"""What can be done in the background: name -> function.

A function takes the folder of the workspace, the arguments of the request (checked by the route
that starts the task) and ``progress(step, percent or None)``; it returns what JSON can hold.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

Progress = Callable[[str, float | None], None]

#: kind -> module:function, imported only in the process that does the work
KINDS = {
    "learn": "prophase.serve.background.learning:learn_anew",
    "simulate": "prophase.serve.background.studies:simulate_trace",
    "whatif": "prophase.serve.background.studies:compare_changes",
    "size": "prophase.serve.background.studies:advise_sizes",
    "prove": "prophase.serve.background.proving:prove_advice",
    "watch": "prophase.serve.background.studies:watch_reported",
    "page": "prophase.serve.pages.work:page_data",
}


def work_of(kind: str) -> Callable[..., Any]:
    """Return the function of a kind."""
    module, _, name = KINDS[kind].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
