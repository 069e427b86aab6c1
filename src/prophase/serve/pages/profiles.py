"""Profiles: the kinds of job there are; one of them with boxes, heat map and explanation."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from prophase.json_types import JsonObject
from prophase.profile.clusters.profiles import Profile
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.pages.charts import PageChart, bars, boxes, heat
from prophase.serve.pages.number_text import amount, named, unit_of
from prophase.serve.pages.page_cache import PageState, page_cache_of
from prophase.serve.pages.table_view import as_csv, rows_table
from prophase.serve.pages.templates import here, page

router = APIRouter()

#: rows and columns of the heat map of all profiles
_MOST_ROWS, _MOST_METRICS = 18, 9
#: profiles that the table shows at first
_LISTED = 25
_QUANTILES = ("q05", "q25", "q50", "q75", "q95")
_METRICS = ("duration_s", "cpu_mean_cores", "memory_mean_gib", "memory_peak_gib",
            "gpu_util_mean_pct", "gpu_memory_mean_gib", "gpu_memory_peak_gib", "read_bytes",
            "write_bytes", "read_count", "write_count", "wait_s")  # fmt: skip
#: a push that is smaller changes nothing
_LEAST_PUSH = 0.01
_SORTS = {"profile": "profile", "jobs": "n", "duration": "duration", "strength": "strength"}


@router.get("/profiles")
def profiles(
    request: Request,
    held: LoadedWorkspaceNow,
    sort: Literal["profile", "jobs", "duration", "strength"] = "jobs",
    down: bool = True,
    whole: bool = False,
    find: Annotated[str, Query(max_length=200)] = "",
    form: Annotated[Literal["page", "csv"], Query(alias="format")] = "page",
) -> Response:
    """List the kinds of job."""
    if "profiles" not in held.models:
        error = str(held.broken.get("profiles") or "")
        what = "profiles" if "jobs" in held.tables else "jobs"
        return page(request, "empty.html", section="profiles", what=what, error=error)
    found = held.profiler.profiles_
    rows = [_row(one) for one in found]
    words = find.strip().lower()
    rows = [one for one in rows if words in f"{one['name']} {one['common']}".lower()]
    key = _SORTS[sort]
    rows.sort(key=lambda row: (row[key] is not None, row[key] or 0), reverse=down)
    rows.sort(key=lambda row: row["outliers"])
    if form == "csv":
        return as_csv(rows_table(rows), "profiles")
    shown = rows if whole or len(rows) <= _LISTED + 5 else rows[:_LISTED]
    proper = sorted((one for one in found if not one.outliers), key=lambda one: -one.n)
    return page(
        request,
        "profiles.html",
        section="profiles",
        rows=shown,
        hidden=len(rows) - len(shown),
        sort=sort,
        down=down,
        find=find,
        chart_=_heat(proper),
        notes=held.profiler.notes_,
        settings=held.profiler.generator_settings_,
        jobs=sum(one.n for one in found),
        proper=len(proper),
        outliers=next((one for one in found if one.outliers), None),
    )


@router.get("/profiles/{name}")
def one_profile(
    request: Request, held: LoadedWorkspaceNow, name: Annotated[str, Path(max_length=200)]
) -> Response:
    """Show one kind of job: what it uses, when it comes, and what tells it."""
    if "profiles" not in held.models:
        return page(request, "empty.html", section="profiles", what="profiles", error="")
    one = held.profiler.profile(name)
    look = _look(request, held, "profile-context", "Comparing with all other jobs", {})
    data = look.data or {}
    why = None
    if held.classifier is not None and not one.outliers:
        title, arguments = "Asking the classifier for its reasons", {"profile": str(one.profile)}
        why = _look(request, held, "profile-reasons", title, arguments)
    return page(
        request,
        "profile.html",
        section="profiles",
        one=one,
        row=_row(one),
        look=look,
        boxes=_boxes(one, data.get("overall", {})),
        when=_when(one, data.get("hours")),
        apart=_apart(one),
        why=why,
        reasons=_reasons(why.data if why else None),
        metrics=[(metric, one.dynamic[metric]) for metric in _ordered(one)],
        asking={held_.column: held_.mode for held_ in one.static if held_.share >= 0.5},
    )


def _look(
    request: Request, held: LoadedWorkspace, view: str, title: str, arguments: JsonObject
) -> PageState:
    return page_cache_of(request).look(
        view,
        held,
        title=title,
        uses=["jobs", "profiles", "classifier"],
        back=here(request),
        arguments=arguments,
    )


def _row(one: Profile) -> JsonObject:
    duration = one.dynamic.get("duration_s")
    return {
        "profile": one.profile,
        "name": "outliers" if one.outliers else one.name,
        "outliers": one.outliers,
        "n": one.n,
        "share": one.share,
        "strength": None if one.outliers else one.strength,
        "duration": duration.quantiles["q50"] if duration else None,
        "q25": duration.quantiles["q25"] if duration else None,
        "q75": duration.quantiles["q75"] if duration else None,
        "common": one.common() or "mixed",
        "doubtful": bool(one.separation and one.separation.doubtful),
    }


def _ordered(one: Profile) -> list[str]:
    known = [metric for metric in _METRICS if metric in one.dynamic]
    return known + [metric for metric in one.dynamic if metric not in known]


def _heat(found: list[Profile]) -> PageChart | None:
    """Return profiles by metrics: the median of each, strong where it is high among profiles."""
    shown = found[:_MOST_ROWS]
    if not shown:
        return None
    metrics = [metric for metric in _METRICS if any(metric in one.dynamic for one in shown)]
    metrics = metrics[:_MOST_METRICS]
    medians = [
        [one.dynamic[m].quantiles["q50"] if m in one.dynamic else None for m in metrics]
        for one in shown
    ]
    columns = [_scaled([row[place] for row in medians]) for place in range(len(metrics))]
    return heat(
        "What each kind of job uses",
        f"Median use of the {len(shown)} largest profiles; the stronger the colour, the more it "
        "is among these profiles.",
        rows=[f"profile {one.name}" for one in shown],
        columns=[named(metric) for metric in metrics],
        shares=[[column[down] for column in columns] for down in range(len(shown))],
        words=[
            [amount(value, unit_of(metric)) for value, metric in zip(row, metrics, strict=True)]
            for row in medians
        ],
    )


def _scaled(values: list[float | None]) -> list[float | None]:
    """Return values between 0 and 1, by their logarithm: use spans orders of magnitude."""
    logs = [None if one is None else math.log1p(max(one, 0.0)) for one in values]
    known = [one for one in logs if one is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    return [None if one is None else (one - low) / (high - low or 1.0) for one in logs]


def _boxes(one: Profile, overall: JsonObject) -> list[PageChart]:
    """Return a pair of boxes per metric: this profile, and all jobs to compare with."""
    charts = []
    for metric in _ordered(one)[:8]:
        held = one.dynamic[metric].quantiles
        rows = [{"name": "this profile", "colour": 0, **{q: held[q] for q in _QUANTILES}}]
        if metric in overall:
            rows.append({"name": "all jobs", "colour": 7, **overall[metric]})
        unit = unit_of(metric)
        says = (
            f"Median {amount(held['q50'], unit)}; nine of ten jobs lie between "
            f"{amount(held['q05'], unit)} and {amount(held['q95'], unit)}."
        )
        charts.append(boxes(named(metric), says, rows, unit))
    return charts


def _when(one: Profile, hours: JsonObject | None) -> PageChart | None:
    counts = (hours or {}).get("counts", {}).get(str(one.profile))
    if not counts:
        return None
    most = max(max(row) for row in counts) or 1
    return heat(
        "When its jobs come",
        f"Jobs submitted in each hour of each day; at most {most:,} in one.",
        rows=(hours or {})["days"],
        columns=[str(hour) for hour in range(24)],
        shares=[[count / most for count in row] for row in counts],
        words=[[str(count) for count in row] for row in counts],
    )


def _apart(one: Profile) -> PageChart | None:
    """Return which metadata is commoner here than among all jobs."""
    told = sorted(
        (held for held in one.static if held.values and held.lift > 1.05),
        key=lambda held: -held.share * math.log(held.lift),
    )[:8]
    if not told:
        return None
    rows = [
        {
            "name": f"{named(held.column)}: {held.mode}",
            "value": 100 * held.share,
            "mark": 100 * min(held.share / held.lift, 1.0),
            "note": f"{held.lift:.1f} times as common as among all jobs",
        }
        for held in told
    ]
    return bars(
        "What sets it apart, known at submission",
        "Share of this profile's jobs with the value; the upright line is that of all jobs.",
        rows,
        "%",
        least=0,
        most=100,
    )


def _reasons(found: JsonObject | None) -> PageChart | None:
    if not found or not found.get("pushes"):
        return None
    rows = [
        {
            "name": f"{named(push['column'])}: {push['value'] or 'none'}",
            "value": push["push"],
            "colour": 0 if push["push"] >= 0 else 1,
        }
        for push in found["pushes"]
        if abs(push["push"]) > _LEAST_PUSH
    ][:8]
    return bars(
        "Why a job gets this profile",
        f"How much each attribute of a typical job pushes towards the profile, in log-odds "
        f"(SHAP); 0.7 doubles the odds. Together they give it {found['probability']:.0%}.",
        rows,
        "",
    )
