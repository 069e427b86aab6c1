"""Sizing: a table by saving; one task with its history, ladder and risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from prophase.json_types import JsonObject
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.pages.charts import PageChart, bars
from prophase.serve.pages.money import money_of
from prophase.serve.pages.number_text import amount
from prophase.serve.pages.page_cache import PageState, page_cache_of
from prophase.serve.pages.table_view import as_csv, rows_table
from prophase.serve.pages.templates import here, page
from prophase.serve.problems import Problem
from prophase.sizing.gpu_grants import how_to_share
from prophase.sizing.resources import RESOURCES

router = APIRouter()

Resource = Literal["memory", "cpu", "gpu-memory", "gpu", "time"]
Risk = Literal["0.1", "1", "5", "10"]
Saving = Literal["50", "20", "0"]
_PER_PAGE = 50
#: column of the address -> key of a row
_SORTS = {
    "task": "task", "runs": "runs", "now": "now", "advice": "advice", "risk": "oom_pct",
    "saving": "saving_pct", "saved": "saved_per_month",
}  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """What is sized, and how boldly."""

    resource: Resource = "memory"
    risk: Risk = "1"
    least: Saving = "0"

    @property
    def query(self) -> str:
        """Return the choice as part of an address."""
        return f"resource={self.resource}&risk={self.risk}&least={self.least}"


DEFAULT = Choice()


def look_at_sizing(request: Request, held: LoadedWorkspace, choice: Choice) -> PageState:
    """Return the recommendations for all tasks, or how far it is."""
    return page_cache_of(request).look(
        "size",
        held,
        title="Back-testing a recommendation for every task",
        uses=["jobs"],
        back=here(request),
        arguments={"resource": choice.resource, "risk": choice.risk, "least": choice.least},
    )


@router.get("/sizing")
def sizing(
    request: Request,
    held: LoadedWorkspaceNow,
    resource: Resource = "memory",
    risk: Risk = "1",
    least: Saving = "0",
    sort: Literal["task", "runs", "now", "advice", "risk", "saving", "saved"] = "saved",
    down: bool = True,
    find: Annotated[str, Query(max_length=200)] = "",
    tenant: Annotated[str, Query(max_length=300)] = "",
    number: Annotated[int, Query(ge=1, le=10_000)] = 1,
    form: Annotated[Literal["page", "csv"], Query(alias="format")] = "page",
) -> Response:
    """List tasks by what they could save."""
    if "jobs" not in held.tables:
        return page(request, "empty.html", section="sizing", what="jobs")
    choice = Choice(resource, risk, least)
    look = look_at_sizing(request, held, choice)
    context: JsonObject = {"look": look, "choice": choice, "find": find, "tenant": tenant}
    context["saved_unit"] = RESOURCES[resource].saved_unit
    context["money"] = money_of(held)
    if look.data:
        data = look.data["values"]
        rows = [
            one
            for one in data["tasks"]
            if find.lower() in one["task"].lower() and tenant in ("", one.get("tenant"))
        ]
        rows = _sorted(rows, _SORTS[sort], down)
        if form == "csv":
            return as_csv(rows_table(rows), f"sizing-{resource}")
        pages = max(-(-len(rows) // _PER_PAGE), 1)
        number = min(number, pages)
        context |= {
            "data": data, "facts": look.data["facts"], "found": len(rows),
            "sort": sort, "down": down,
            "rows": rows[(number - 1) * _PER_PAGE : number * _PER_PAGE],
            "number": number, "pages": pages, "savings": _savings_chart(data),
            "tenants": sorted({str(one["tenant"]) for one in data["tasks"] if one.get("tenant")}),
        }  # fmt: skip
    return page(request, "sizing.html", section="sizing", **context)


@router.get("/sizing/task")
def one_task(
    request: Request,
    held: LoadedWorkspaceNow,
    name: Annotated[str, Query(max_length=2000)],
    resource: Resource = "memory",
    risk: Risk = "1",
    least: Saving = "0",
) -> Response:
    """Show one task: its history, what it should ask for, and the risk."""
    if "jobs" not in held.tables:
        return page(request, "empty.html", section="sizing", what="jobs")
    choice = Choice(resource, risk, least)
    look = look_at_sizing(request, held, choice)
    context: JsonObject = {"look": look, "choice": choice, "name": name}
    context["saved_unit"] = RESOURCES[resource].saved_unit
    context["money"] = money_of(held)
    if look.data:
        data = look.data["values"]
        row = next((one for one in data["tasks"] if one["task"] == name), None)
        if row is None:
            raise Problem(404, f"there is no task {name!r} among those that can be sized.")
        explained = look.data["explained"].get(name)
        sharing = how_to_share(resource, [] if row["keep"] else [row])
        context |= {"data": data, "row": row, "explained": explained, "sharing": sharing}
        if explained:
            context["dots"] = _history_chart(explained)
            context["risks"] = _risk_chart(row, explained)
    return page(request, "task.html", section="sizing", **context)


def _sorted(rows: list[JsonObject], key: str, down: bool) -> list[JsonObject]:
    """Sort rows; what is unknown comes last in both directions."""
    known = [row for row in rows if row[key] is not None]
    known.sort(key=lambda row: row[key], reverse=down)
    return known + [row for row in rows if row[key] is None]


def _savings_chart(data: JsonObject) -> PageChart | None:
    rows = [
        {"name": one["task"], "value": one["saved_per_month"], "note": one["why"]}
        for one in data["tasks"]
        if not one["keep"] and one["saved_per_month"]
    ][:10]
    if not rows:
        return None
    unit = RESOURCES[data["resource"]].saved_unit
    which = "The task that saves" if len(rows) == 1 else f"The {len(rows)} tasks that save"
    return bars(
        "Where the savings are",
        f"{which} most, in {unit} a month. Recommendations are back-tested on the task's own past.",
        rows,
        unit,
    )


def _history_chart(explained: JsonObject) -> PageChart:
    peaks, unit = explained["peaks"], explained["unit"]
    first = explained["runs"] - len(peaks) + 1
    rung = explained["ladder"][0]["request"]
    levels = [{"name": "recommended", "value": rung, "colour": 2}]
    if explained["now"] is not None:
        levels.append({"name": "asked for today", "value": explained["now"], "colour": 1})
    above = sum(peak > rung for peak in peaks)
    return PageChart(
        "dots",
        "What its runs needed",
        f"The peak of each of the last {len(peaks)} runs, in the order they ended. "
        f"{above} of them would have needed more than the first request.",
        {
            "x": list(range(first, first + len(peaks))), "y": peaks, "unit": unit,
            "xlabel": "run", "ylabel": f"peak, {unit}", "above": rung, "levels": levels,
        },
        [{"run": first + at, "peak": amount(peak, unit)} for at, peak in enumerate(peaks)][-60:],
    )  # fmt: skip


def _risk_chart(row: JsonObject, explained: JsonObject) -> PageChart | None:
    rows = [
        {
            "name": f"attempt {rung['attempt']}",
            "value": round(100 * rung["killed_share"], 4),
            "colour": 1,
        }
        for rung in explained["ladder"]
        if rung["killed_share"] is not None
    ]
    if not rows:
        return None
    if row["oom_pct"] is not None:
        rows.insert(
            0,
            {"name": "seen in the back-test", "value": row["oom_pct"], "low": row["oom_low_pct"],
             "high": row["oom_high_pct"], "colour": 0},
        )  # fmt: skip
    return bars(
        "The risk of being killed",
        "Share of runs above each rung of the ladder, and what the back-test saw "
        "at the first rung, with its 95 % interval over days.",
        rows,
        "%",
        level="95 %",
    )
