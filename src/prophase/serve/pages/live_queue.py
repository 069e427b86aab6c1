"""The live queue: what waits and runs now, as the last round of a collector saw it."""

from __future__ import annotations

import time
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from prophase.json_types import JsonObject
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.pages.table_view import TableView, ViewNow, as_csv, choices
from prophase.serve.pages.templates import page
from prophase.trace.collect.collection import live_queues
from prophase.trace.describe.trace_clock import moment_words

router = APIRouter()

_SHOWN = (
    "job_id", "name", "user", "tenant", "kind", "queue", "status", "since_s", "request_gpus",
    "request_cpu_cores", "request_memory_gib", "time_limit_s",
)  # fmt: skip
#: a round that is older than this is no longer live
_OLD_S = 3600.0


@router.get("/queue")
def live_queue(
    request: Request,
    held: LoadedWorkspaceNow,
    view: ViewNow,
    form: Annotated[Literal["page", "csv"], Query(alias="format")] = "page",
) -> Response:
    """Show who waits, for how long, and what runs."""
    systems, table = _now(held)
    if not systems:
        return page(request, "empty.html", section="queue", what="queue")
    view = view if view.sort else TableView(**{**view.__dict__, "sort": "since_s"})
    rows, _ = view.chosen(table)
    if form == "csv":
        return as_csv(rows, "queue")
    part, number, pages = view.part(rows)
    told = part.astype(object)
    status = table["status"].astype("string") if "status" in table else pd.Series(dtype="string")
    return page(
        request,
        "queue.html",
        section="queue",
        systems=systems,
        waiting=int((status == "pending").sum()),
        running=int((status == "running").sum()),
        longest=_longest(table, status),
        offered=choices(table),
        rows=told.where(told.notna(), None).to_dict("records"),
        columns=[name for name in _SHOWN if name in table],
        found=len(rows),
        view=view,
        number=number,
        pages=pages,
    )


def _now(held: LoadedWorkspace) -> tuple[list[JsonObject], pd.DataFrame]:
    """Return which systems were asked when, and all jobs of their queues."""
    found, tables = [], []
    for name, (asked_s, jobs) in live_queues(held.workspace.folder).items():
        age = time.time() - asked_s
        found.append({"name": name, "asked": moment_words(asked_s, "unix"), "age_s": age,
                      "old": age > _OLD_S})  # fmt: skip
        waits = jobs["status"].astype("string") == "pending"
        began = jobs["submit_s"].where(waits, jobs.get("start_s", jobs["submit_s"]))
        since = np.maximum(asked_s - began.to_numpy(np.float64, na_value=np.nan), 0.0)
        tables.append(jobs.assign(since_s=since))
    whole = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
    return found, whole[[name for name in _SHOWN if name in whole and whole[name].notna().any()]]


def _longest(table: pd.DataFrame, status: pd.Series) -> float | None:
    waits = table.loc[status == "pending", "since_s"] if "since_s" in table else pd.Series()
    return None if waits.empty else float(waits.max())
