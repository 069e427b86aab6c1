"""What if: changes compared with today in the background, with live progress and cancel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from prophase.errors import ProphaseError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.serve.api.tasks import Learning, TaskId, WhatIf, begin, cancelled
from prophase.serve.background.task_rows import BackgroundTask
from prophase.serve.dependencies import (
    Caller,
    LoadedWorkspaceNow,
    TasksNow,
    WhoAsks,
    require,
)
from prophase.serve.pages.charts import PageChart, bars
from prophase.serve.pages.number_text import unit_of
from prophase.serve.pages.templates import page
from prophase.serve.problems import Problem
from prophase.sim.cluster import Cluster
from prophase.sim.cluster_variants import parse_nodes
from prophase.sim.whatif.smallest_cluster import parse_wait_target

router = APIRouter()

#: policies that the form offers: name -> words
POLICIES = {
    "shortest": "shortest first (knows the future: a bound)",
    "smallest_gpu_time": "smallest GPU time first (knows the future)",
    "fifo:best_fit:strict": "first come, strict queue",
    "fifo:first_fit:skip": "first come, first node that fits",
}
#: what a comparison may be ranked by
MEASURES = {
    "mean_wait_s": "mean wait",
    "p99_wait_s": "99th percentile of the wait",
    "mean_jct_s": "mean time to completion",
    "gpu_utilisation_pct": "GPU use of the cluster",
}
#: a bar that is this many times the usual one is cut off
_CUT = 20.0


@router.post("/ask/learn", dependencies=[Depends(require("admin"))])
async def learn_now(held: LoadedWorkspaceNow, tasks: TasksNow, who: Caller) -> Response:
    """Begin to learn what predicts."""
    if "jobs" not in held.tables:
        raise Problem(409, "there are no jobs to learn from. Import some with: prophase import")
    going = next((one for one in tasks.all() if one.kind == "learn" and not one.ended), None)
    if going is not None:
        return RedirectResponse(f"/tasks/{going.id}", 303)
    return await begun(tasks, "learn", Learning().model_dump(), who)


@router.get("/tasks/{task}")
def one_task(request: Request, tasks: TasksNow, task: TaskId) -> Response:
    """Show how far a task is, and what came out."""
    found = tasks.get(task)
    context: JsonObject = {"task": found, "measures": MEASURES}
    if found.kind == "whatif" and found.state == "done":
        context |= {"chart_": _chart(found), "unit": unit_of(found.result["measure"])}
    return page(request, "work.html", section=_section(found), **context)


@router.post("/tasks/{task}/cancel")
def cancel(tasks: TasksNow, task: TaskId, who: WhoAsks) -> Response:
    """End a task."""
    cancelled(tasks, task, who)
    return RedirectResponse(f"/tasks/{task}", 303)


async def begun(tasks: TasksNow, kind: str, arguments: JsonObject, who: str) -> Response:
    """Begin a task and go to the page that shows how far it is."""
    started = await begin(tasks, kind, arguments, who, Response(), 0.0)
    return RedirectResponse(f"/tasks/{started['id']}", 303)


def _section(task: BackgroundTask) -> str:
    return {"whatif": "simulator", "learn": "ask"}.get(task.kind, "overview")


def read_form(said: Mapping[str, str]) -> WhatIf | dict[str, str]:
    """Read the form: what it leaves empty is left out. Mistakes are returned by their field."""
    fields: JsonObject = {
        "add": _listed(said.get("add", "")),
        "remove": _listed(said.get("remove", "")),
        "load": _listed(said.get("load", "")),
        "policy": [name for name in POLICIES if said.get(f"policy-{name}")],
        "combine": bool(said.get("combine")),
        "leave_out_unfit": True,
    }
    for name in ("cluster", "target", "measure", "seeds", "block_h"):
        if said.get(name, "").strip():
            fields[name] = said[name].strip()
    if said.get("sharing") in ("on", "off"):
        fields["sharing"] = said["sharing"] == "on"
    try:
        wanted = WhatIf(**fields)
    except ValidationError as error:
        return {str(one["loc"][0]): f"{one['msg']}." for one in reversed(error.errors())}
    wrong = _unreadable(wanted)
    changes = (wanted.add, wanted.remove, wanted.load, wanted.policy, wanted.target)
    if not any(changes) and wanted.sharing is None:
        wrong["form"] = "There is nothing to compare with today: name at least one change."
    return wrong or wanted


def _unreadable(wanted: WhatIf) -> dict[str, str]:
    """Say of each field what the replay would refuse in it."""
    checks: tuple[tuple[str, Sequence[str], Callable[[str], object]], ...] = (
        ("cluster", [wanted.cluster] if wanted.cluster else [], Cluster.parse),
        ("add", wanted.add, parse_nodes),
        ("remove", wanted.remove, parse_nodes),
        ("target", [wanted.target] if wanted.target else [], parse_wait_target),
    )
    wrong = {}
    for name, values, read in checks:
        try:
            for value in values:
                read(value)
        except ProphaseError as error:
            wrong[name] = str(error)
    return wrong


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _chart(task: BackgroundTask) -> PageChart:
    found = task.result
    measure = found["measure"]
    rows = [
        {
            "name": "as today" if one["scenario"] == "baseline" else one["scenario"],
            "value": one[measure],
            "low": one[f"{measure}_low"],
            "high": one[f"{measure}_high"],
            "colour": 0 if one["scenario"] == "baseline" else 5,
        }
        for one in found["rows"]
    ]
    return bars(
        MEASURES.get(measure, measure).capitalize(),
        f"On the trace as recorded, {with_intervals(rows)} ({found['seeds']} traces, resampled "
        f"from {counted(found['blocks'], 'block')} of {found['block_h']:g} h).",
        rows,
        unit_of(measure),
        least=0,
        most=edge([row["value"] for row in rows]),
    )


def with_intervals(rows: Sequence[JsonObject]) -> str:
    """Say whether bars have intervals."""
    known = any(row["low"] is not None for row in rows)
    return "with 95 % intervals" if known else "without intervals: the history is too short"


def edge(values: list[float]) -> float:
    """Return where an axis ends, so that one giant does not flatten all other bars.

    Examples
    --------
    >>> round(edge([1.0, 2.0, 3.0]), 1), round(edge([1.0, 2.0, 3.0, 4.0, 1000.0]), 1)
    (6.6, 8.8)
    """
    usual = sorted(values)[len(values) // 2]
    shown = [value for value in values if value <= _CUT * usual or usual == 0]
    return max(2.2 * max(shown, default=1.0), 1.0)
