"""What a campaign says of itself, as plain values, for the command line and the service."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.runs.campaign import Campaign
from prophase.runs.pipeline import read_pipeline
from prophase.runs.run_filter import EVERY_RUN, RunFilter
from prophase.runs.states import RunState, next_state, reset_event, reset_state
from prophase.runs.store.records import Move, Run


def state_counts(campaign: Campaign) -> list[dict[str, object]]:
    """Return how many runs are in each state that has any."""
    counts = campaign.store.counts()
    return [{"state": int(s), "what": s.label, "runs": number} for s, number in counts.items()]


def campaign_status(campaign: Campaign) -> JsonObject:
    """Return the states with their numbers of runs, and how long each worker has been silent."""
    now = time.time()
    workers = [
        {"worker": name, "silent_s": max(0.0, now - seen)}
        for name, seen in sorted(campaign.workers.alive().items())
    ]
    return {"states": state_counts(campaign), "workers": workers}


def list_runs(
    campaign: Campaign,
    *,
    states: Sequence[RunState] = (),
    failed: bool = False,
    where: RunFilter = EVERY_RUN,
    after: int = 0,
    most: int | None = None,
) -> list[JsonObject]:
    """Return runs by id: all, those in some states, or those that failed.

    Parameters
    ----------
    where : RunFilter, optional
        By scenario, execution date, task and state.
    after, most : int, optional
        For pages: begin behind this id, and return no more than so many.
    """
    if failed:
        states = [state for state in RunState if state.failed]
    found = campaign.store.runs(states=states, where=where, after=after, most=most)
    return [_listed(run) for run in found]


#: what is shown of an attempt
_OF_ATTEMPT = (
    "status", "end_cause", "request_memory_gib", "memory_peak_gib", "at_least_gib",
    "request_cpu_cores", "cpu_peak_cores", "duration_s", "logs_url",
)  # fmt: skip


def list_tasks(
    campaign: Campaign, *, where: RunFilter = EVERY_RUN, ended: str | None = None
) -> list[JsonObject]:
    """Return the task instances of finished and failed runs, one row per attempt.

    Parameters
    ----------
    where : RunFilter, optional
        By scenario, execution date, task and state of the run.
    ended : str, optional
        Only attempts that ended so, such as ``oom`` or ``completed``.
    """
    runs = {run.id: run for run in campaign.store.runs(where=where)}
    rows = campaign.store.task_rows(where=where)
    return [
        {
            "id": run_id,
            "scenario": runs[run_id].scenario,
            "execution_date": str(runs[run_id].execution_date),
            "what": runs[run_id].state.label,
            **_attempt(row),
        }
        for run_id, row in rows
        if run_id in runs and ended in (None, row.get("status"))
    ]


def allocation_rows(campaign: Campaign) -> list[JsonObject]:
    """Return what each task of the pipeline asks for next, and who says so."""
    held = campaign.settings.allocations()
    rows = []
    for task in read_pipeline(campaign.pipeline_file).tasks.values():
        values = held.get(task.name, {})
        advised = values.get("advised_gib") or task.advised_gib
        is_set = "memory_gib" in values
        rows.append(
            {
                "task": task.name,
                "memory_gib": values["memory_gib"]
                if is_set
                else advised[0]
                if advised
                else task.memory_gib,
                "says": "set" if is_set else "recommended" if advised else "pipeline",
                "cpu_cores": values.get("cpu_cores", task.cpu_cores),
                "attempts": int(values.get("attempts", task.attempts)),
            }
        )
    return rows


def show_run(campaign: Campaign, run_id: int) -> JsonObject:
    """Return all that is known of a run, with everything that happened to it as ``history``."""
    run = campaign.store.run(run_id)
    return {
        **_listed(run),
        "attributes": run.attributes,
        "version": run.version[:8],
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "profiling_id": run.profiling_id,
        "tasks": [_attempt(row) for _, row in campaign.store.task_rows(run_id)],
        "history": [_told(move) for move in campaign.store.history(run_id)],
    }


def reset_runs(
    campaign: Campaign,
    run_ids: Sequence[int] = (),
    *,
    to: str = "17",
    all_failed: bool = False,
    actor: str,
    reason: str = "",
) -> list[dict[str, object]]:
    """Set runs back so that workers pick them up again; return where each was and is.

    Parameters
    ----------
    run_ids : sequence of int
        Which; or ``all_failed`` for every failed run that has come further than ``to``.
    to : str, default="17"
        0 or registered, 17 or deployed, 37 or executed.
    actor, reason : str
        Kept in the history.
    """
    goal = reset_state(to)
    if bool(run_ids) == all_failed:
        raise ParameterError("Name the runs to reset, or ask for all that failed (--all-failed).")
    if all_failed:
        failed = [state for state in RunState if state.failed and state > goal]
        run_ids = [run.id for run in campaign.store.runs(states=failed)]
    for run_id in run_ids:
        # all of them or none
        next_state(campaign.store.run(run_id).state, reset_event(goal))
    return [
        {
            "id": run_id,
            "was": int(campaign.store.reset(run_id, goal, actor=actor, reason=reason)),
            "is": int(goal),
        }
        for run_id in run_ids
    ]


def _listed(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "scenario": run.scenario,
        "execution_date": str(run.execution_date),
        "state": int(run.state),
        "what": run.state.label,
        "notes": run.notes,
    }


def _attempt(row: JsonObject) -> JsonObject:
    named = {"task": row["task"], "attempt": row["attempt"]}
    return {**named, **{name: row.get(name) for name in _OF_ATTEMPT}}


def _told(move: Move) -> JsonObject:
    return {
        "time": datetime.fromtimestamp(move.time_s, UTC).isoformat(" ", "seconds")[:19],
        "state": int(move.to_state),
        "what": move.to_state.label,
        "event": move.event,
        "actor": move.actor,
        "reason": move.reason,
    }
