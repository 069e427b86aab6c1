"""Sizing: what each task should ask for, with its history, ladder and risk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prophase.serve.pages.work import Progress
from prophase.sizing.recommender import (
    Gate,
    Recommendation,
    ResourceRecommendations,
    as_rows,
    recommend,
)
from prophase.stats.month import span_text, why_no_month
from prophase.trace.trace_tables import open_trace

#: tasks that are listed, those that save most
_MOST_TASKS = 2_000
#: of these, tasks whose history is kept too
_WITH_HISTORY = 300
#: latest runs that a picture shows
_SHOWN_RUNS = 250
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def sizing(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return the advice for every task, as ``prophase size`` gives it."""
    progress("reading the jobs", 2)
    jobs = open_trace(folder, tables=["jobs"]).jobs
    found = recommend(
        jobs,
        risk=arguments["risk"],
        gate=Gate(least_saving=arguments["least_saving"]),
        resource=arguments["resource"],
        show=lambda percent: progress("trying advice on the past", percent),
    )
    rows = as_rows(found)
    for row, one in zip(rows, found.tasks, strict=True):
        row |= {"keep": one.keep, "tried": one.tried}
    return {
        "resource": found.resource, "unit": found.unit, "risk": found.risk,
        "span_h": found.span_h, "left_out": found.left_out, "count": len(rows),
        "advised": sum(not one.keep for one in found.tasks),
        "saved_per_month": _total(found), "tasks": rows[:_MOST_TASKS],
        "histories": {one.task: _history(one) for one in found.tasks[:_WITH_HISTORY]},
    }  # fmt: skip


def _total(found: ResourceRecommendations) -> dict[str, Any]:
    """Return what all tasks save together in a month, and the history that comes from."""
    span_s = 3600 * found.span_h
    saved = [one.saved_per_month for one in found.tasks if math.isfinite(one.saved_per_month)]
    why = why_no_month(span_s)
    return {
        "value": None if why else sum(saved),
        "from": why or f"extrapolated from {span_text(span_s)} of history",
    }


def _history(one: Recommendation) -> dict[str, Any]:
    told: dict[str, Any] = {
        "peaks": list(one.peaks[-_SHOWN_RUNS:]),
        "first_run": max(len(one.peaks) - _SHOWN_RUNS, 0) + 1,
        "ladder": list(one.ladder),
    }
    if one.outlook is not None:
        told["killed"] = [float(one.outlook.exceed(rung)) for rung in one.ladder]
        told["quantiles"] = {f"q{100 * q:02.0f}": one.outlook.quantile(q) for q in _QUANTILES}
    return told
