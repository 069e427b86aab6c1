"""Runs: a board of the campaign by state, and one run with its story."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.runs.states import RunState
from prophase.runs.status import (
    allocation_rows,
    campaign_status,
    list_runs,
    reset_runs,
    show_run,
)
from prophase.serve.api.runs import RunId, WantedRuns, opened
from prophase.serve.dependencies import Caller, LoadedWorkspaceNow, require
from prophase.serve.forms import form_of
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.pages.charts import PageChart, bars
from prophase.serve.pages.table_view import Format, ViewNow, as_csv, rows_table, shown_part
from prophase.serve.pages.templates import page
from prophase.serve.settings import campaign_folder

router = APIRouter()

#: lanes of the board: words -> states
_LANES: dict[str, tuple[RunState, ...]] = {
    "Registered": (RunState.REGISTERED,),
    "Deploy": (RunState.DEPLOYING, RunState.DEPLOYED),
    "Execute": (RunState.EXECUTING, RunState.EXECUTED),
    "Profile": (RunState.PROFILING,),
    "Finished": (RunState.FINISHED,),
    "Failed": tuple(state for state in RunState if state.failed),
}
#: runs shown per lane
_SHOWN = 12


@router.get("/runs")
def board(request: Request, held: LoadedWorkspaceNow, where: WantedRuns) -> Response:
    """Show how many runs are in which state, live; all, or some of them."""
    folder = _folder(request, held)
    if folder is None:
        return page(request, "empty.html", section="runs", what="runs")
    with opened(request) as campaign:
        status = campaign_status(campaign)
        counts = {int(one["state"]): int(one["runs"]) for one in status["states"]}
        if not where.is_empty:
            found = list_runs(campaign, where=where)
            counts = dict(Counter(int(run["state"]) for run in found))
        lanes = [
            {
                "words": words,
                "count": sum(counts.get(int(state), 0) for state in states),
                "runs": list_runs(campaign, states=states, where=where, most=_SHOWN),
            }
            for words, states in _LANES.items()
        ]
    total = sum(counts.values())
    done = counts.get(int(RunState.FINISHED), 0)
    return page(
        request,
        "runs.html",
        section="runs",
        lanes=lanes,
        asked=where,
        state=request.query_params.get("state"),
        query=request.url.query,
        total=total,
        done=done,
        workers=status["workers"],
        campaign=folder.resolve().name,
        campaign_folder=str(folder),
        going=total > done + sum(counts.get(int(s), 0) for s in RunState if s.failed),
    )


@router.get("/runs/all")
def all_runs(
    request: Request,
    held: LoadedWorkspaceNow,
    where: WantedRuns,
    view: ViewNow,
    form: Format = "page",
) -> Response:
    """List runs by scenario, date, task and state."""
    if _folder(request, held) is None:
        return page(request, "empty.html", section="runs", what="runs")
    with opened(request) as campaign:
        table = rows_table(list_runs(campaign, where=where))
    view = view.sorted_by("id", down=False)
    # the campaign has looked at the dates
    rows, _ = view.chosen(table)
    if form == "csv":
        return as_csv(rows, "runs")
    return page(request, "runs_table.html", section="runs", **shown_part(rows, view))


@router.get("/runs/allocations")
def allocations(request: Request, task: str = "") -> Response:
    """Show what each task asks for next, with a form to change it."""
    return _allocations(request, task)


def _allocations(request: Request, chosen: str = "", problem: str = "") -> Response:
    with opened(request) as campaign:
        rows = allocation_rows(campaign)
    return page(
        request,
        "allocations.html",
        section="runs",
        status=422 if problem else 200,
        tasks=rows,
        chosen=chosen,
        problem=problem,
    )


@router.post("/runs/allocations", dependencies=[Depends(require("admin"))])
async def allocate(request: Request, who: Caller) -> Response:
    """Set memory and cores of a task; a mistake is shown beside the form."""
    said = await form_of(request)
    task = said.get("task", "")
    wanted = [
        f"task.{task}.{what}={said[what].strip()}"
        for what in ("memory_gib", "cpu_cores")
        if said.get(what, "").strip()
    ]

    def change() -> Response:
        try:
            with opened(request) as campaign:
                campaign.set_all(wanted, actor=who)
        except ParameterError as wrong:
            return _allocations(request, task, str(wrong))
        return RedirectResponse("/runs/allocations", 303)

    return await run_in_threadpool(change)


@router.get("/runs/{number}")
def one_run(request: Request, number: RunId) -> Response:
    """Show a run: where it is, what happened to it, what its tasks used."""
    with opened(request) as campaign:
        run = show_run(campaign, number)
        tasks = [row for _, row in campaign.store.task_rows(number)]
    state = RunState(run["state"])
    return page(
        request,
        "run.html",
        section="runs",
        run=run,
        tasks=tasks,
        peaks=_peaks(tasks),
        failed=state.failed,
        short=next((row["task"] for row in reversed(tasks) if row["status"] == "oom"), None),
        back_to=17 if state > 30 else 0,
    )


@router.post("/runs/{number}/reset", dependencies=[Depends(require("admin"))])
async def reset(request: Request, who: Caller, number: RunId) -> Response:
    """Set a run back, so that workers pick it up again."""
    said = await form_of(request)
    to, reason = said.get("to", "17"), said.get("reason", "")[:300]

    def set_back() -> None:
        with opened(request) as campaign:
            reset_runs(campaign, [number], to=to, actor=who, reason=reason)

    await run_in_threadpool(set_back)
    return RedirectResponse(f"/runs/{number}", 303)


def _peaks(tasks: list[JsonObject]) -> PageChart | None:
    """Return what each task used of what it was given."""
    rows = [
        {
            "name": row["task"] if row["attempt"] == 1 else f"{row['task']} ({row['attempt']})",
            "value": row["memory_peak_gib"],
            "of": row["request_memory_gib"],
            "colour": 0 if row["status"] == "completed" else 1,
        }
        for row in tasks
        if row["memory_peak_gib"] is not None and row["request_memory_gib"] is not None
    ]
    if not rows:
        return None
    rows.sort(key=lambda row: -row["value"])
    return bars(
        "Memory use of its tasks",
        "Highest memory of each task as measured; grey is the request, orange ran out of it.",
        rows[:25],
        "GiB",
    )


def _folder(request: Request, held: LoadedWorkspace) -> Path | None:
    """Return the folder of the campaign, if there is one."""
    folder = campaign_folder(request.app.state.settings, held.workspace.folder)
    return folder if (folder / "campaign.toml").is_file() else None
