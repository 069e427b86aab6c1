"""Go and measure: register runs of a pipeline, and have them deployed, executed and profiled."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.runs.answers import campaign_status, list_runs, reset_runs, show_run
    from prophase.runs.campaign import Campaign
    from prophase.runs.executor import Assignment, Check, Executor, make_executor
    from prophase.runs.export import exported_tables
    from prophase.runs.maintainer import maintain
    from prophase.runs.pipeline import Pipeline, read_pipeline
    from prophase.runs.profiling import profile_run
    from prophase.runs.states import RunState, next_state
    from prophase.runs.worker import Worker

_HOMES = {
    "Assignment": "executor",
    "Campaign": "campaign",
    "Check": "executor",
    "Executor": "executor",
    "Pipeline": "pipeline",
    "RunState": "states",
    "Worker": "worker",
    "campaign_status": "answers",
    "exported_tables": "export",
    "list_runs": "answers",
    "maintain": "maintainer",
    "make_executor": "executor",
    "next_state": "states",
    "profile_run": "profiling",
    "read_pipeline": "pipeline",
    "reset_runs": "answers",
    "show_run": "answers",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Assignment",
    "Campaign",
    "Check",
    "Executor",
    "Pipeline",
    "RunState",
    "Worker",
    "campaign_status",
    "exported_tables",
    "list_runs",
    "maintain",
    "make_executor",
    "next_state",
    "profile_run",
    "read_pipeline",
    "reset_runs",
    "show_run",
]
