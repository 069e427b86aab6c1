"""The simulator: compare policies, see why jobs wait, and ask what if."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from prophase.json_types import JsonObject
from prophase.serve.api.tasks import WhatIf
from prophase.serve.dependencies import Caller, LoadedWorkspaceNow, TasksNow
from prophase.serve.forms import form_of
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.pages import page_results
from prophase.serve.pages.charts import PageChart, bars
from prophase.serve.pages.page_cache import PageState, page_cache_of
from prophase.serve.pages.templates import here, page
from prophase.serve.pages.whatif import (
    MEASURES,
    POLICIES,
    begun,
    edge,
    read_form,
    with_intervals,
)
from prophase.serve.problems import Problem

router = APIRouter()

#: what a page calls a scenario of the comparison
_WORDS = {
    "baseline": "as today (fifo, skip)",
    "policy fifo:best_fit:strict": "strict queue",
    "policy fifo:first_fit:skip": "first fit",
    "policy smallest_gpu_time": "smallest GPU time",
    "policy shortest": "shortest (the bound)",
}
_CAUSES = {
    "capacity": "cluster full", "gpu_type": "GPU type", "quota": "quota", "order": "order",
    "fragmentation": "fragmented", "gang": "gang",
}  # fmt: skip
_Cluster = Annotated[str, Query(max_length=500)]


@router.get("/simulator")
def simulator(
    request: Request, held: LoadedWorkspaceNow, tasks: TasksNow, cluster: _Cluster = ""
) -> Response:
    """Compare policies, say why jobs wait, and offer the what-if form."""
    return _simulator(request, held, tasks, cluster, {}, {})


@router.post("/simulator/whatif")
async def ask_what_if(
    request: Request, held: LoadedWorkspaceNow, tasks: TasksNow, who: Caller
) -> Response:
    """Begin a comparison; a mistake is shown beside its field, with all that was typed."""
    if "jobs" not in held.tables:
        raise Problem(409, "there are no jobs to replay. Import some with: prophase import")
    said = await form_of(request)
    wanted = read_form(said)
    if isinstance(wanted, WhatIf):
        return await begun(tasks, "whatif", wanted.model_dump(), who)
    cluster = "" if "cluster" in wanted else said.get("cluster", "")
    return await run_in_threadpool(_simulator, request, held, tasks, cluster, said, wanted)


def _simulator(
    request: Request,
    held: LoadedWorkspace,
    tasks: TasksNow,
    cluster: str,
    typed: Mapping[str, str],
    wrong: Mapping[str, str],
) -> Response:
    if "jobs" not in held.tables:
        return page(request, "empty.html", section="simulator", what="jobs")
    known = "nodes" in held.tables or bool(cluster.strip())
    context: JsonObject = {
        "cluster": cluster.strip(),
        "typed": typed,
        "wrong": wrong,
        "has_nodes": "nodes" in held.tables,
        "known": known,
        "words": _WORDS,
        "offered": POLICIES,
        "compared": ",".join(page_results.POLICIES),
        "measures": MEASURES,
        "asked": [task for task in tasks.all() if task.kind == "whatif"][:8],
    }
    if known:
        policies = _look(request, held, "policies", "Replaying under other policies", cluster)
        why = _look(request, held, "why", "Finding out why jobs wait", cluster)
        context |= {"policies": policies, "why": why}
        if policies.data:
            context["waits"] = _waits_chart(policies.data["values"])
        if why.data:
            context |= {
                "causes": _causes_chart(why.data["values"]),
                "removals": _removal_chart(why.data["values"]),
            }
    status = 422 if wrong else 200
    return page(request, "simulator.html", section="simulator", status=status, **context)


def _look(
    request: Request, held: LoadedWorkspace, view: str, title: str, cluster: str
) -> PageState:
    arguments = {"cluster": cluster.strip()} if cluster.strip() else {}
    return page_cache_of(request).look(
        view, held, title=title, uses=["jobs", "nodes"], back=here(request), arguments=arguments
    )


def _waits_chart(data: JsonObject) -> PageChart:
    rows = [
        {
            "name": _WORDS.get(one["scenario"], one["scenario"]),
            "value": one["mean_wait_s"], "low": one["mean_wait_s_low"],
            "high": one["mean_wait_s_high"], "colour": 0 if one["scenario"] == "baseline" else 5,
        }
        for one in data["rows"]
    ]  # fmt: skip
    return bars(
        "Mean wait under other policies",
        f"On the trace as recorded, {with_intervals(rows)} from {data['seeds']} traces resampled "
        f"from {data['blocks']} blocks of {data['block_h']:g} h. Bars that end at the edge are "
        "longer than shown.",
        rows,
        "s",
        least=0,
        most=edge([row["value"] for row in rows]),
    )


def _causes_chart(data: JsonObject) -> PageChart | None:
    held = [one for one in data["causes"] if one["share_pct"]]
    if not held:
        return None
    rows = [
        {"name": _cause(one["cause"]), "value": one["share_pct"], "low": one["share_low_pct"],
         "high": one["share_high_pct"], "note": one["words"]}
        for one in sorted(held, key=lambda one: -one["share_pct"])
    ]  # fmt: skip
    return bars(
        "What jobs wait for",
        f"Shares of all {data['total_wait_h']:,.0f} h of waiting, {with_intervals(rows)}; "
        "together 100 %.",
        rows,
        "%",
        least=0,
        most=100,
    )


def _removal_chart(data: JsonObject) -> PageChart | None:
    rows = [
        {"name": one["change"], "value": one["change_pct"], "low": one["low_pct"],
         "high": one["high_pct"], "colour": 2 if one["change_pct"] < 0 else 1}
        for one in data["without"]
        if not one["skipped"] and one["change_pct"] is not None
    ]  # fmt: skip
    if not rows:
        return None
    rows.sort(key=lambda one: one["value"])
    return bars(
        "What would help",
        f"Change of all waiting in a replay without the cause, {with_intervals(rows)}; to the left "
        "is less waiting. Bars that end at the edge are longer than shown.",
        rows,
        "%",
        least=-100,
        most=100,
    )


def _cause(name: str) -> str:
    return _CAUSES.get(name, name.replace("_", " "))
