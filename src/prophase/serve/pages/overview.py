"""The overview: load, waste, savings and drift of the cluster, at a glance."""

from __future__ import annotations

import math
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from prophase.serve.api.drift import drift
from prophase.serve.dependencies import LoadedWorkspaceNow, WorkspaceCacheNow
from prophase.serve.loaded_workspace import LoadedWorkspace, WorkspaceCache
from prophase.serve.pages.charts import Chart, bars, lines
from prophase.serve.pages.page_cache import page_cache_of
from prophase.serve.pages.sizing import DEFAULT, look_at_sizing
from prophase.serve.pages.templates import folder_as_typed, here, page

router = APIRouter()


@router.get("/")
def overview(request: Request, held: LoadedWorkspaceNow, library: WorkspaceCacheNow) -> Response:
    """Show how the cluster does and what to do about it."""
    if "jobs" not in held.tables:
        return page(request, "empty.html", section="overview", what="jobs")
    look = page_cache_of(request).look(
        "overview", held, title="Looking at the trace", uses=["jobs", "nodes"], back=here(request)
    )
    context: dict[str, Any] = {"look": look, "steps": _next_steps(held)}
    if look.data:
        context |= {
            "data": look.data,
            "load": _load_chart(look.data),
            "queue": _queue_chart(look.data),
            "use": _use_chart(look.data),
            "saved": look_at_sizing(request, held, DEFAULT),
            "drift": _drift(held, library),
        }
    return page(request, "overview.html", section="overview", **context)


def _load_chart(data: dict[str, Any]) -> Chart | None:
    load = data["load"]
    if not load.get("percent"):
        return None
    series = [
        {"name": name, "y": values, "area": place == 0}
        for place, (name, values) in enumerate(load["percent"].items())
    ]
    means = ", ".join(f"{one['name']} {sum(one['y']) / len(one['y']):.0f} %" for one in series)
    over = max(max(one["y"]) for one in series) > 105
    beyond = " Above 100 %, jobs hold more than the node table has." if over else ""
    return lines(
        "How full the cluster was",
        f"Requests of running jobs as a share of what all nodes have. On average: {means}.{beyond}",
        load["time_s"],
        series,
        unit="%",
        clock=data["counts"]["clock"],
        most=100,
    )


def _queue_chart(data: dict[str, Any]) -> Chart | None:
    load = data["load"]
    if "running" not in load:
        return None
    series = [{"name": "running", "y": load["running"]}]
    if load["waiting"]:
        series.append({"name": "waiting", "y": load["waiting"]})
    most = max(load["running"])
    return lines(
        "Jobs running" + (" and waiting" if load["waiting"] else ""),
        f"Number of jobs at each moment; at most {most:,.0f} ran at once.",
        load["time_s"],
        series,
        unit="jobs",
        clock=data["counts"]["clock"],
    )


def _use_chart(data: dict[str, Any]) -> Chart | None:
    if not data["use"]:
        return None
    rows = [
        {"name": one["name"], "value": one["value"], "low": one["low"], "high": one["high"],
         "of": 100, "note": f"{one['jobs']:,} jobs"}
        for one in data["use"]
    ]  # fmt: skip
    first = data["use"][0]
    sure = first["reason"] or f"with 95 % intervals over {first['blocks']} days"
    least = min(data["use"], key=lambda one: one["value"])
    return bars(
        "How much of what was asked for was used",
        f"Use over request, weighted by run time; {sure}. "
        f"Least: {least['name']}, {least['value']:.0f} %; the grey rest was reserved for nothing.",
        rows,
        "%",
        least=0,
        most=max(100.0, *(one["value"] for one in data["use"])),
    )


def _drift(held: LoadedWorkspace, library: WorkspaceCache) -> dict[str, Any]:
    """Say how well predictions hold, as ``prophase watch`` has found out."""
    found = drift(held, library)
    command = f"prophase watch {folder_as_typed(held)} --with finished.csv"
    if not found["watching"]:
        reported = found["reported_jobs"]
        words = f"{reported:,} finished jobs were reported" if reported else "nobody checks them"
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
