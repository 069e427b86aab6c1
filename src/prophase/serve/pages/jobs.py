"""Jobs, users and tenants: who ran what, how long it waited, and what was left unused."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from prophase.json_types import JsonObject
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.pages.charts import PageChart, bars
from prophase.serve.pages.money import money_of
from prophase.serve.pages.table_view import (
    Format,
    TableView,
    ViewNow,
    as_csv,
    choices,
    has_dates,
    shown_part,
)
from prophase.serve.pages.templates import page
from prophase.serve.problems import Problem
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.trace_clock import moment_words
from prophase.trace.describe.utilisation import describe_utilisation

router = APIRouter()

_COLUMN = {"users": "user", "tenants": "tenant"}
#: columns of the job table that pages show, where the trace has them
_SHOWN = (
    "job_id", "name", "user", "tenant", "kind", "queue", "status", "submit_s", "start_s",
    "wait_s", "duration_s", "instances", "request_gpus", "gpu_util_mean_pct",
    "request_cpu_cores", "cpu_mean_cores", "request_memory_gib", "memory_peak_gib", "gpu_type",
)  # fmt: skip
#: what the page lists; a CSV has all
_LISTED = (
    "job_id", "user", "tenant", "kind", "queue", "status", "submit_s", "wait_s", "duration_s",
    "request_gpus", "request_memory_gib", "memory_peak_gib", "cost",
)  # fmt: skip
#: fewer values than these tell no jobs apart
_DIFFERENT = 2
_HOUR_S = 3600.0


@router.get("/jobs")
def jobs(
    request: Request, held: LoadedWorkspaceNow, view: ViewNow, form: Format = "page"
) -> Response:
    """List jobs by user, tenant, kind, queue and time."""
    if "jobs" not in held.tables:
        return page(request, "empty.html", section="jobs", what="jobs")
    table = job_table(held)
    view = view.sorted_by("submit_s")
    rows, wrong = view.chosen(table, clock=held.tables["jobs"].clock)
    if form == "csv":
        return as_csv(rows, "jobs")
    return page(
        request,
        "jobs.html",
        section="jobs",
        status=422 if wrong else 200,
        **_listed(held, rows, view),
        wrong=wrong,
        offered=choices(table),
        dated=has_dates(table),
    )


@router.get("/users")
@router.get("/tenants")
def people(
    request: Request, held: LoadedWorkspaceNow, view: ViewNow, form: Format = "page"
) -> Response:
    """List users or tenants: their jobs, what they reserve, how long they wait."""
    who = _who(request)
    if "jobs" not in held.tables:
        return page(request, "empty.html", section=who, what="jobs")
    column = _COLUMN[who]
    table = held.answer(("people", who), lambda: _people(job_table(held), column))
    view = view.sorted_by("jobs")
    rows, _ = view.chosen(table)
    if form == "csv":
        return as_csv(rows, who)
    return page(
        request,
        "people.html",
        section=who,
        who=who,
        column=column,
        **shown_part(rows, view),
        money=money_of(held),
        columns=list(table),
        known=column in job_table(held),
    )


@router.get("/users/{name:path}")
@router.get("/tenants/{name:path}")
def person(
    request: Request,
    held: LoadedWorkspaceNow,
    name: Annotated[str, Path(max_length=300)],
    view: ViewNow,
) -> Response:
    """Show one user or tenant: jobs, what was left unused, waits."""
    who = _who(request)
    if "jobs" not in held.tables:
        return page(request, "empty.html", section=who, what="jobs")
    column, table = _COLUMN[who], job_table(held)
    own = table[table[column].astype("string") == name] if column in table else table[:0]
    if own.empty:
        raise Problem(404, f"no job of this workspace has the {column} {name!r}. See /{who}.")
    view = view.sorted_by("submit_s")
    rows, wrong = view.chosen(own, clock=held.tables["jobs"].clock)
    summary = _people(own, column).iloc[0].replace({np.nan: None}).to_dict()
    return page(
        request,
        "person.html",
        section=who,
        status=422 if wrong else 200,
        who=who,
        column=column,
        name=name,
        summary=summary,
        waits=_waits(own, table),
        use=_use_chart(own),
        kinds=_kinds(own),
        wrong=wrong,
        offered={key: one for key, one in choices(own).items() if key != column},
        dated=has_dates(table),
        **_listed(held, rows, view),
    )


def _who(request: Request) -> str:
    """Return whether users or tenants are asked for."""
    return request.url.path.split("/")[1]


def job_table(held: LoadedWorkspace) -> pd.DataFrame:
    """Return the columns of the jobs that pages show; read once."""

    def read() -> pd.DataFrame:
        jobs = held.workspace.read("jobs")
        known = [name for name in _SHOWN if name in jobs and jobs[name].notna().any()]
        cost = money_of(held).cost(jobs)
        told = jobs[known]
        return told if cost is None or np.isnan(cost).all() else told.assign(cost=cost)

    return held.answer("job-table", read)


def _listed(held: LoadedWorkspace, rows: pd.DataFrame, view: TableView) -> JsonObject:
    """Return a page of jobs as the template shows it."""
    clock = held.tables["jobs"].clock
    listed = shown_part(rows, view)
    for row in listed["rows"]:
        if row.get("submit_s") is not None:
            row["submitted"] = moment_words(float(row["submit_s"]), clock)
    columns = held.answer("job-columns", lambda: _telling(job_table(held)))
    return {**listed, "columns": columns, "money": money_of(held)}


def _telling(table: pd.DataFrame) -> list[str]:
    """Return the columns to list: without those that say nothing, or what another one says."""
    columns = [name for name in _LISTED if name in table]
    alike = {
        name
        for name in ("queue", "request_gpus")
        if name in table and table[name].nunique() < _DIFFERENT
    }
    if {"user", "tenant"} <= set(columns):
        user, tenant = (table[name].astype("string").fillna("") for name in ("user", "tenant"))
        if bool((user == tenant).all()):
            # without accounts or teams every user is a tenant of their own
            alike.add("tenant")
        elif all(map(str.endswith, tenant, "/" + user)):
            alike.add("user")
    return [name for name in columns if name not in alike]


def _people(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a row per user or tenant, those with most jobs first."""
    if column not in table:
        return pd.DataFrame(columns=[column, "jobs"])
    named = table[table[column].notna()]
    groups = named.groupby(named[column].astype(str), sort=False)
    found = pd.DataFrame({"jobs": groups.size()})
    if "status" in named:
        failed = named["status"].astype("string").isin(["failed", "oom", "timeout"])
        found["failed_pct"] = 100 * failed.groupby(named[column].astype(str), sort=False).mean()
    if "request_gpus" in named and "duration_s" in named:
        found["gpu_hours"] = (
            _hours(named, "request_gpus").groupby(named[column].astype(str), sort=False).sum()
        )
    if "request_memory_gib" in named and "duration_s" in named:
        found["memory_gib_hours"] = (
            _hours(named, "request_memory_gib").groupby(named[column].astype(str), sort=False).sum()
        )
    if "cost" in named:
        found["cost"] = groups["cost"].sum()
    if "wait_s" in named:
        found["mean_wait_s"] = groups["wait_s"].mean()
        found["p95_wait_s"] = groups["wait_s"].quantile(0.95)
    found.index.name = column
    return found.sort_values("jobs", ascending=False, kind="stable").reset_index()


def _hours(table: pd.DataFrame, request: str) -> pd.Series:
    many = table["instances"].fillna(1.0) if "instances" in table else 1.0
    return table[request].fillna(0.0) * table["duration_s"].fillna(0.0) * many / _HOUR_S


def _use_chart(own: pd.DataFrame) -> PageChart | None:
    """Return what was used of what was asked for, as ``prophase describe`` has it."""
    found = describe_utilisation(own)
    if isinstance(found, NotComputable):
        return None
    rows: list[JsonObject] = [
        {"name": one.resource, "value": one.used_pct.value,
         "low": one.used_pct.low if one.used_pct.known else None,
         "high": one.used_pct.high if one.used_pct.known else None,
         "of": 100, "note": f"{one.jobs:,} jobs"}
        for one in found.resources
        if one.resource != "run time" and one.used_pct.value == one.used_pct.value
    ]  # fmt: skip
    if not rows:
        return None
    sure = all(row["low"] is not None for row in rows)
    return bars(
        "How much of what was asked for was used",
        "Use over request, weighted by run time"
        + ("; with 95 % intervals over days." if sure else "; too few days for intervals of all."),
        rows,
        "%",
        least=0,
        most=max(100.0, *(row["value"] for row in rows)),
    )


def _waits(own: pd.DataFrame, table: pd.DataFrame) -> PageChart | None:
    """Return how long these jobs waited beside all jobs."""
    if "wait_s" not in own or not own["wait_s"].notna().any():
        return None
    rows = [
        {"name": f"{words}, {whose}", "value": float(jobs["wait_s"].quantile(q)), "colour": colour}
        for q, words in ((0.5, "half"), (0.95, "19 of 20"))
        for whose, jobs, colour in (("these jobs", own, 0), ("all jobs", table, 7))
    ]
    return bars(
        "How long jobs waited",
        "As recorded: the wait that half of the jobs, and 19 of 20, stayed below.",
        rows,
        "s",
        least=0,
    )


def _kinds(own: pd.DataFrame) -> list[JsonObject]:
    """Return the kinds of job that hold most, with what they ask for and use."""
    if "kind" not in own:
        return []
    found = []
    for name, jobs in own.groupby(own["kind"].astype(str), sort=False):
        row: JsonObject = {"kind": str(name), "jobs": len(jobs)}
        for column in ("duration_s", "request_memory_gib", "memory_peak_gib", "request_gpus"):
            if column in jobs and jobs[column].notna().any():
                row[column] = float(jobs[column].median())
        found.append(row)
    return sorted(found, key=lambda row: -row["jobs"])[:15]
