"""The profiling module: from a DAG id and a run id to one row per task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prophase.errors import ParameterError, RefusedError
from prophase.runs.campaign import Campaign
from prophase.runs.states import RunState

_COLUMNS = (
    "task", "attempt", "status", "request_memory_gib", "memory_peak_gib", "request_cpu_cores",
    "cpu_peak_cores", "duration_s",
)  # fmt: skip


def profile_run(campaign: Campaign, dag_id: str, run_id: str) -> list[dict[str, Any]]:
    """Return one row per task of a run: allocation, highest use, duration and scenario.

    Attempts that failed are left out; the completed one says which it was. A run that was not
    executed to its end is refused.
    """
    run = campaign.store.find(dag_id, run_id)
    if run is None:
        raise ParameterError(
            f"There is no run {run_id!r} of DAG {dag_id!r}. "
            "See both ids with: prophase runs show ID"
        )
    if run.state < RunState.EXECUTED:
        raise RefusedError(
            f"Run {run.id} is {run.state.label} ({int(run.state)}); only a run that was executed "
            "to its end can be profiled. Wait for it, or see why it stopped: "
            f"prophase runs show {run.id}"
        )
    job = campaign.assignment(run)
    rows = [row for _, row in campaign.store.task_rows(run.id)]
    if not rows:
        gathered = replace(job, profiling_id=campaign.executor.profile(job))
        check = campaign.executor.check_profile(gathered)
        rows = [dict(row) for row in check.task_rows]
    order = list(job.pipeline.tasks)
    completed = [row for row in rows if row["status"] == "completed"]
    completed.sort(key=lambda row: order.index(row["task"]))
    shared = {"scenario": run.scenario, "execution_date": str(run.execution_date)}
    return [
        {**{name: row.get(name) for name in _COLUMNS}, **shared, **run.attributes}
        for row in completed
    ]
