"""What can be done in the background: name -> function.

A function takes the folder of the workspace, the arguments of the request (checked by the route
that starts the task) and ``progress(step, percent or None)``; it returns what JSON can hold.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.provenance import with_provenance

Progress = Callable[[str, float | None], None]
Work = Callable[[Path, JsonMapping, Progress], JsonObject]

#: kind -> module:function, imported only in the process that does the work
KINDS = {
    "import": "prophase.serve.background.task_functions:import_upload",
    "learn": "prophase.serve.background.task_functions:retrain_models",
    "simulate": "prophase.serve.background.task_functions:simulate_trace",
    "whatif": "prophase.serve.background.task_functions:compare_changes",
    "why": "prophase.serve.background.task_functions:explain_waits",
    "validate": "prophase.serve.background.task_functions:validate_replay",
    "eta": "prophase.serve.background.task_functions:forecast_job_start",
    "queueing": "prophase.serve.background.task_functions:ask_queueing_theory",
    "sweep": "prophase.serve.background.task_functions:sweep_policies",
    "size": "prophase.serve.background.task_functions:recommend_sizes",
    "prove": "prophase.serve.background.task_functions:prove_recommendation",
    "watch": "prophase.serve.background.task_functions:watch_reported",
    "page": "prophase.serve.pages.page_results:page_data",
}
#: kinds that change tables or models of the workspace
WRITING = ("import", "learn", "watch")


def result_of(kind: str, folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Do what a kind stands for and return its result for JSON, with all that it depends on."""
    module, _, name = KINDS[kind].partition(":")
    work: Work = getattr(import_module(module), name)
    told = with_provenance(work(folder, arguments, progress), seed=arguments.get("seed"))
    result: JsonObject = finite(told)
    return result
