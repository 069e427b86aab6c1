"""The profiling module: from a DAG id and a run id to one row per task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prophase.errors import ParameterError, RefusedError
from prophase.runs.campaign import Campaign
from prophase.runs.states import RunState
from prophase.runs.store.records import Run

_COLUMNS = (
    "task", "attempt", "status", "request_memory_gib", "memory_peak_gib", "request_cpu_cores",
    "cpu_peak_cores", "duration_s",
)  # fmt: skip


def profile_run(campaign: Campaign, dag_id: str, run_id: str) -> list[dict[str, Any]]:
    """Return one row per task of a run: allocation, highest use, duration and scenario.

    Attempts that failed are left out; the completed one says which it was. A run that was not
    executed to its end is refused.

    Parameters
    ----------
    dag_id, run_id : str
        By which the executor knows the run; see also :func:`profile_of`.
    """
    run = campaign.store.find(dag_id, run_id)
    if run is None:
        raise ParameterError(
            f"There is no run {run_id!r} of DAG {dag_id!r}. "
            "See both ids with: prophase runs show ID"
        )
    return profile_of(campaign, run)


def profile_of(campaign: Campaign, run: Run) -> list[dict[str, Any]]:
    """Return the same rows for a run that the store has given."""
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
        if check.progress != "succeeded":
            why = check.reason or "what was measured is still being gathered; ask again"
            raise RefusedError(f"Run {run.id} cannot be profiled now: {why}")
        rows = [dict(row) for row in check.task_rows]
    order = list(job.pipeline.tasks)
    completed = [row for row in rows if row["status"] == "completed"]
    completed.sort(key=lambda row: order.index(row["task"]))
    shared = {"scenario": run.scenario, "execution_date": str(run.execution_date)}
    return [
        {**{name: row.get(name) for name in _COLUMNS}, **shared, **run.attributes}
        for row in completed
    ]
