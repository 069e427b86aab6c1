"""The profiling module: from a DAG id and a run id to one row per task, and back to ``trace``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd

from prophase.errors import InputError, ParameterError, RefusedError
from prophase.json_types import JsonObject
from prophase.runs.campaign import Campaign
from prophase.runs.code_versions import named_version
from prophase.runs.collected_rows import collected_rows
from prophase.runs.executor import Assignment
from prophase.runs.run_filter import EVERY_RUN, RunFilter
from prophase.runs.shared_logs import read_shared_usage
from prophase.runs.states import RunState
from prophase.runs.store.records import Run
from prophase.runs.usage.usage_log import read_usage
from prophase.trace.identity.job_identity import with_rule
from prophase.trace.identity.rule import IdentityRule
from prophase.trace.schema import USAGE
from prophase.trace.workspace import Workspace

_COLUMNS = (
    "task", "attempt", "status", "request_memory_gib", "memory_peak_gib", "request_cpu_cores",
    "cpu_peak_cores", "duration_s",
)  # fmt: skip


def profile_run(campaign: Campaign, dag_id: str, run_id: str) -> list[dict[str, object]]:
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


def profile_of(campaign: Campaign, run: Run) -> list[JsonObject]:
    """Return the same rows for a run that the store has given."""
    if run.state < RunState.EXECUTED:
        raise RefusedError(
            f"Run {run.id} is {run.state.label} ({int(run.state)}); only a run that was executed "
            "to its end can be profiled. Wait for it, or see why it stopped: "
            f"prophase runs show {run.id}"
        )
    job = campaign.assignment(run)
    rows: list[JsonObject] = []
    if run.state is RunState.FINISHED:
        rows = [row for _, row in campaign.store.task_rows(run.id)]
    if not rows:
        gathered = replace(job, profiling_id=campaign.executor.profile(job))
        check = campaign.executor.check_profile(gathered)
        if check.progress != "succeeded":
            why = check.reason or "what was measured is still being gathered; ask again"
            raise RefusedError(f"Run {run.id} cannot be profiled now: {why}")
        rows = collected_rows(job, check.task_rows)
    order = list(job.pipeline.tasks)
    completed = [row for row in rows if row["status"] == "completed"]
    completed.sort(key=lambda row: order.index(row["task"]))
    shared = {"scenario": run.scenario, "execution_date": str(run.execution_date)}
    return [
        {
            **{name: row.get(name) for name in _COLUMNS},
            **shared,
            **run.attributes,
            **row.get("attributes", {}),
        }
        for row in completed
    ]


#: fields of a task row that are columns of the job table as they are
_AS_THEY_ARE = (
    "task", "submit_s", "start_s", "end_s", "duration_s", "status", "request_memory_gib",
    "request_cpu_cores", "memory_peak_gib", "memory_mean_gib", "cpu_peak_cores", "cpu_mean_cores",
    "read_bytes", "write_bytes",
)  # fmt: skip

#: how an attempt ended and how its peak was measured: ``after_*`` in the job table
HOW_MEASURED = ("end_cause", "memory_peak_error_gib", "memory_method")


def exported_tables(
    campaign: Campaign, *, with_usage: bool = True, where: RunFilter = EVERY_RUN
) -> dict[str, pd.DataFrame]:
    """Return the job table and, if samples are at hand, the usage table of what was measured.

    An attempt that ended for lack of memory is a job of its own with status ``oom``, whether its
    run finished in the end or failed. Its peak is the memory it was given: the task needs at least
    this much (``after_at_least_gib``).

    Parameters
    ----------
    where : RunFilter, optional
        Runs and tasks to export; by default all.
    """
    runs = {run.id: run for run in campaign.store.runs()}
    jobs, series = [], []
    for run_id, row in campaign.store.task_rows(where=where):
        run = runs[run_id]
        job = campaign.assignment(run)
        job_id = f"{run.run_id}/{row['task']}/{row['attempt']}"
        jobs.append(_job(job_id, run, job, row))
        found = _samples(row, job_id) if with_usage else None
        if found is not None:
            series.append(found)
    if not jobs and not where.is_empty:
        raise InputError(
            "No task of such runs has been measured. See which are: prophase runs tasks"
        )
    if not jobs:
        raise InputError(
            "No run has been profiled yet, so there is nothing to export. "
            "Let them run with: prophase runs work"
        )
    # the group of a run is its scenario, not who started it
    tables = {"jobs": with_rule(pd.DataFrame(jobs), IdentityRule((), (("task",),)))}
    if series:
        tables["usage"] = _known_first(pd.concat(series, ignore_index=True))
    return tables


def export(
    campaign: Campaign,
    folder: Path,
    *,
    replace: bool = False,
    command: str = "",
    where: RunFilter = EVERY_RUN,
) -> dict[str, int]:
    """Write the tables into a workspace and return how many rows each has."""
    tables = exported_tables(campaign, where=where)
    rows = campaign.store.task_rows(where=where)
    digest = hashlib.sha256(json.dumps(rows, sort_keys=True, default=str).encode()).hexdigest()
    Workspace.create(folder).store_frames(
        tables, source="runs", source_hash=digest, command=command, clock="unix", replace=replace
    )
    return {name: len(table) for name, table in tables.items()}


def _job(job_id: str, run: Run, job: Assignment, row: JsonObject) -> JsonObject:
    values = {
        "job_id": job_id,
        "parent_id": run.run_id,
        "name": f"{job.pipeline.name}/{row['task']}",
        "group": run.dag_id,
        "workload": job.pipeline.name,
        "source": "runs",
        "instances": 1,
        **{name: row.get(name) for name in _AS_THEY_ARE},
        "attr_scenario": run.scenario,
        "attr_execution_date": str(run.execution_date),
        "attr_version": named_version(run.version),
        "attr_attempt": row["attempt"],
        "after_run_state": run.state.label,
        "after_at_least_gib": row.get("at_least_gib"),
        **{f"after_{name}": row.get(name) for name in HOW_MEASURED},
    }
    if row.get("at_least_gib") is not None:
        # what it had reached when memory was refused says little; what it was refused at says more
        values["after_reached_gib"] = row.get("memory_peak_gib")
        values["memory_peak_gib"] = row["at_least_gib"]
    if row.get("start_s") is not None and row.get("submit_s") is not None:
        values["wait_s"] = max(0.0, row["start_s"] - row["submit_s"])
    known = {**run.attributes, **row.get("attributes", {})}
    return values | {f"attr_{key}": value for key, value in known.items()}


def _samples(row: JsonObject, job_id: str) -> pd.DataFrame | None:
    """Return the samples of an attempt: from its file, or from shared storage."""
    usage_file = Path(str(row.get("usage_file") or ""))
    if usage_file.is_file():
        return read_usage(usage_file, series_id=job_id) if usage_file.stat().st_size else None
    if row.get("logs_url"):
        return read_shared_usage(str(row["logs_url"]), job_id)
    return None


def _known_first(usage: pd.DataFrame) -> pd.DataFrame:
    known = [name for name in USAGE.names if name in usage.columns]
    return usage[[*known, *(name for name in usage.columns if name not in known)]]
