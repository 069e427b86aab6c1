"""The live queue: what waits and runs now, as the last round of a collector saw it."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from fastapi import APIRouter, Request
from fastapi.responses import Response

from prophase.json_types import JsonObject
from prophase.serve.dependencies import LoadedWorkspaceNow
from prophase.serve.loaded_workspace import LoadedWorkspace
from prophase.serve.pages.table_view import Format, ViewNow, as_csv, choices, shown_part
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
    form: Format = "page",
) -> Response:
    """Show who waits, for how long, and what runs."""
    systems, table = _now(held)
    if not systems:
        return page(request, "empty.html", section="queue", what="queue")
    view = view.sorted_by("since_s")
    rows, _ = view.chosen(table)
    if form == "csv":
        return as_csv(rows, "queue")
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
        **shown_part(rows, view),
        columns=[name for name in _SHOWN if name in table],
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
