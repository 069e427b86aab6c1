"""Go and measure: register runs of a pipeline, and have them deployed, executed and profiled."""

from typing import TYPE_CHECKING

from prophase.lazy_imports import lazy_names

if TYPE_CHECKING:
    from prophase.runs.campaign import Campaign
    from prophase.runs.executor import Assignment, Executor, ExecutorCheck, make_executor
    from prophase.runs.maintainer import maintain
    from prophase.runs.measured_rows import exported_tables, profile_run
    from prophase.runs.pipeline import Pipeline, read_pipeline
    from prophase.runs.states import RunState, next_state
    from prophase.runs.status import campaign_status, list_runs, reset_runs, show_run
    from prophase.runs.worker import Worker

_HOMES = {
    "Assignment": "executor",
    "Campaign": "campaign",
    "ExecutorCheck": "executor",
    "Executor": "executor",
    "Pipeline": "pipeline",
    "RunState": "states",
    "Worker": "worker",
    "campaign_status": "status",
    "exported_tables": "measured_rows",
    "list_runs": "status",
    "maintain": "maintainer",
    "make_executor": "executor",
    "next_state": "states",
    "profile_run": "measured_rows",
    "read_pipeline": "pipeline",
    "reset_runs": "status",
    "show_run": "status",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Assignment",
    "Campaign",
    "Executor",
    "ExecutorCheck",
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
