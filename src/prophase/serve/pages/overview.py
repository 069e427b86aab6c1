"""The overview: load, waste, savings and drift of the cluster, at a glance."""

from __future__ import annotations

import math

from fastapi import APIRouter, Request
from fastapi.responses import Response

from prophase.json_types import JsonObject
from prophase.serve.api.drift import drift
from prophase.serve.dependencies import LoadedWorkspaceNow, WorkspaceCacheNow
from prophase.serve.loaded_workspace import LoadedWorkspace, WorkspaceCache
from prophase.serve.pages.charts import PageChart, bars, lines
from prophase.serve.pages.money import money_of
from prophase.serve.pages.page_cache import page_cache_of
from prophase.serve.pages.sizing import DEFAULT, look_at_sizing
from prophase.serve.pages.templates import folder_as_typed, here, page
from prophase.trace.describe.trace_clock import FIRST_DATE_S

router = APIRouter()

#: what a page calls the columns of the nodes
_RESOURCES = {"gpus": "GPUs", "cpu_cores": "CPU cores", "memory_gib": "Memory"}


@router.get("/")
def overview(request: Request, held: LoadedWorkspaceNow, library: WorkspaceCacheNow) -> Response:
    """Show how the cluster does and what to do about it."""
    if "jobs" not in held.tables:
        return page(request, "empty.html", section="overview", what="jobs")
    look = page_cache_of(request).look(
        "describe",
        held,
        title="Describing the trace",
        uses=["jobs", "nodes", "usage"],
        back=here(request),
    )
    context: JsonObject = {"look": look, "steps": _next_steps(held)}
    if look.data:
        data = look.data["values"]
        context |= {
            "data": data,
            "uses": {one["resource"]: one for one in data["utilisation"].get("resources", ())},
            "load": _load_chart(data),
            "queue": _queue_chart(data),
            "use": _use_chart(data),
            "saved": look_at_sizing(request, held, DEFAULT),
            "money": money_of(held),
            "drift": _drift(held, library),
        }
    return page(request, "overview.html", section="overview", **context)


def _load_chart(data: JsonObject) -> PageChart | None:
    load = data["load"]
    if not load.get("load_pct"):
        return None
    series = [
        {"name": _RESOURCES[name], "y": values, "area": place == 0}
        for place, (name, values) in enumerate(load["load_pct"].items())
    ]
    means = ", ".join(f"{_RESOURCES[name]} {mean:.0f} %" for name, mean in load["mean_pct"].items())
    over = max(max(one["y"]) for one in series) > 105
    beyond = " Above 100 %, jobs hold more than the node table has." if over else ""
    return lines(
        "How full the cluster was",
        f"Requests of running jobs as a share of what all nodes have. On average: {means}.{beyond}",
        _times(data),
        series,
        unit="%",
        clock=_clock(data),
        most=100,
    )


def _queue_chart(data: JsonObject) -> PageChart | None:
    load = data["load"]
    if "running" not in load:
        return None
    series = [{"name": "running", "y": load["running"]}]
    if load["waiting"]:
        series.append({"name": "waiting", "y": load["waiting"]})
    return lines(
        "Jobs running" + (" and waiting" if load["waiting"] else ""),
        f"Number of jobs at each moment; at most {load['most_running']:,.0f} ran at once.",
        _times(data),
        series,
        unit="jobs",
        clock=_clock(data),
    )


def _clock(data: JsonObject) -> str:
    return "date" if data["load"]["time_s"][0] >= FIRST_DATE_S else "elapsed"


def _times(data: JsonObject) -> list[float]:
    """Return the times of the load: dates, or since the first event if the clock has none."""
    times: list[float] = data["load"]["time_s"]
    zero = 0.0 if _clock(data) == "date" else data["span"]["first_s"]
    return [time - zero for time in times]


def _use_chart(data: JsonObject) -> PageChart | None:
    found = [
        one
        for one in data["utilisation"].get("resources", ())
        if one["resource"] != "run time" and one["used_pct"]["value"] is not None
    ]
    if not found:
        return None
    rows = [
        {"name": one["resource"], "value": one["used_pct"]["value"], "low": one["used_pct"]["low"],
         "high": one["used_pct"]["high"], "of": 100, "note": f"{one['jobs']:,} jobs"}
        for one in found
    ]  # fmt: skip
    first = found[0]["used_pct"]
    sure = first["reason"] or f"with 95 % intervals over {first['blocks']} days"
    least = min(rows, key=lambda row: row["value"])
    return bars(
        "How much of what was asked for was used",
        f"Use over request, weighted by {found[0]['weighted_by']}; {sure}. "
        f"Least: {least['name']}, {least['value']:.0f} %; the grey rest was reserved but not used.",
        rows,
        "%",
        least=0,
        most=max(100.0, *(row["value"] for row in rows)),
    )


def _drift(held: LoadedWorkspace, library: WorkspaceCache) -> JsonObject:
    """Say how well predictions hold, as ``prophase watch`` has found out."""
    found = drift(held, library)
    command = f"prophase watch {folder_as_typed(held)} --with finished.csv"
    if not found["watching"]:
        reported = found["reported_jobs"]
        words = f"{reported:,} finished jobs were reported" if reported else "not watched"
        return {"words": "not watched", "range": words, "badge": "", "kind": "", "command": command}
    whole = found["scopes"][0]
    calm = found["state"] in ("ok", "learning")
    error = whole["error"]
    return {
        "words": "not known yet" if error is None else f"off by {math.exp(error):.2f} times",
        "range": f"median over the last of {found['watched_jobs']:,} jobs; "
        f"{100 * (whole['outside'] or 0):.0f} % outside their 90 % range",
        "badge": found["state"],
        "kind": "good" if calm else "bad",
        "command": command,
        "steps": [one for one in found["steps"] if one.get("stands")][-5:],
    }


def _next_steps(held: LoadedWorkspace) -> list[tuple[str, str, str]]:
    """Return what the workspace lacks: what it is good for, and the command that makes it."""
    folder = folder_as_typed(held)
    steps = []
    if "profiles" not in held.models:
        steps.append(("Group jobs into kinds", "/profiles", f"prophase profile fit {folder}"))
    if "predictions" not in held.models:
        steps.append(("Predict run time and use of a job", "/ask", f"prophase learn {folder}"))
    return steps
