"""The overview: how full the cluster was, how much of what was asked for was used, who waited."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.serve.pages.work import Progress
from prophase.stats import Blocks, calendar_blocks, quantile, ratio
from prophase.trace.describe.column_arrays import NotComputable, has_values, numbers
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.describe.trace_clock import span_of
from prophase.trace.describe.utilisation import COMPARISONS
from prophase.trace.trace_tables import Trace, open_trace

Floats = NDArray[np.float64]
#: points of a line over the whole trace
_POINTS = 180
#: earlier times are not dates, whatever the clock says (1990)
_FIRST_DATE_S = 631_152_000.0
#: what nodes have -> what jobs ask for, and the words of both
_RESOURCES = {
    "gpus": ("request_gpus", "GPUs"),
    "cpu_cores": ("request_cpu_cores", "CPU cores"),
    "memory_gib": ("request_memory_gib", "Memory"),
}


def overview(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return counts, load over time, use of requests, and waits."""
    progress("reading the jobs", 5)
    trace = open_trace(folder, tables=["jobs", "nodes"])
    jobs = trace.jobs
    progress("adding up the load", 30)
    told: dict[str, Any] = {"counts": _counts(trace), "load": _load(trace)}
    progress("comparing requests with use", 60)
    told["use"] = _use(jobs)
    progress("looking at waits", 85)
    told["waits"] = _waits(jobs)
    return told


def _counts(trace: Trace) -> dict[str, Any]:
    jobs, nodes = trace.jobs, trace.tables.get("nodes")
    span = span_of(jobs, trace.clock)
    told: dict[str, Any] = {
        "jobs": len(jobs),
        "users": int(jobs["user"].nunique()) if has_values(jobs, "user") else None,
        "ended": int(jobs["duration_s"].notna().sum()) if "duration_s" in jobs else 0,
        "clock": "elapsed" if _zero(trace) else "date",
    }
    if not isinstance(span, NotComputable):
        told |= {"days": span.days, "first": span.first, "last": span.last}
    if nodes is not None:
        told["nodes"] = len(nodes)
        told["gpus"] = float(nodes["gpus"].sum()) if has_values(nodes, "gpus") else None
    return told


def _zero(trace: Trace) -> float:
    """Return what time counts from: 1970 if the clock shows dates, else the first event."""
    span = span_of(trace.jobs, trace.clock)
    if isinstance(span, NotComputable):
        return 0.0
    return 0.0 if span.first_s >= _FIRST_DATE_S else span.first_s


def _load(trace: Trace) -> dict[str, Any]:
    """Return the mean load between points in time, in percent of what the nodes have."""
    jobs, nodes = trace.jobs, trace.tables.get("nodes")
    if not (has_values(jobs, "start_s") and has_values(jobs, "duration_s")):
        return {"missing": "the jobs have no start times, so nobody knows when they ran"}
    start, length = numbers(jobs, "start_s"), numbers(jobs, "duration_s")
    ran = np.isfinite(start) & np.isfinite(length) & (length >= 0)
    begin, end = start[ran], start[ran] + length[ran]
    # a few jobs that run for weeks after the last submission must not squeeze the rest
    edges = np.linspace(begin.min(), np.quantile(end, 0.995), _POINTS + 1)
    several = instances_of(jobs)[ran]
    lines = {}
    for name, (request, words) in _RESOURCES.items():
        if nodes is None or not has_values(nodes, name) or not has_values(jobs, request):
            continue
        whole = float(nodes[name].sum())
        asked = np.nan_to_num(numbers(jobs, request)[ran]) * several
        if whole > 0 and asked.sum() > 0:
            lines[words] = (100 * mean_load(begin, end, asked, edges) / whole).tolist()
    running = mean_load(begin, end, np.ones(len(begin)), edges)
    waiting = _waiting(jobs, ran, edges)
    return {
        "time_s": (0.5 * (edges[:-1] + edges[1:]) - _zero(trace)).tolist(),
        "percent": lines,
        "running": running.tolist(),
        "waiting": waiting,
    }


def _waiting(jobs: pd.DataFrame, ran: NDArray[np.bool_], edges: Floats) -> list[float] | None:
    if not has_values(jobs, "submit_s"):
        return None
    submit, start = numbers(jobs, "submit_s")[ran], numbers(jobs, "start_s")[ran]
    known = np.isfinite(submit) & (submit <= start)
    if not (start[known] > submit[known]).any():
        return None
    found = mean_load(submit[known], start[known], np.ones(int(known.sum())), edges)
    return [float(one) for one in found]


def mean_load(begin: Floats, end: Floats, weight: Floats, edges: Floats) -> Floats:
    """Return the mean weight of what is there between each two edges.

    Examples
    --------
    >>> mean_load(np.array([0.0]), np.array([1.5]), np.array([4.0]), np.array([0.0, 1.0, 2.0]))
    array([4., 2.])
    """
    area = _area(begin, weight, edges) - _area(end, weight, edges)
    found: Floats = np.diff(area) / np.diff(edges)
    return found


def _area(since: Floats, weight: Floats, edges: Floats) -> Floats:
    """Return the area up to each edge under weights that set in at some time and stay."""
    order = np.argsort(since, kind="stable")
    weights = np.concatenate([[0.0], np.cumsum(weight[order])])
    moments = np.concatenate([[0.0], np.cumsum(weight[order] * since[order])])
    upto = np.searchsorted(since[order], edges)
    found: Floats = edges * weights[upto] - moments[upto]
    return found


def _use(jobs: pd.DataFrame) -> list[dict[str, Any]]:
    """Return how much of every request was used, weighted by run time."""
    hours = numbers(jobs, "duration_s") / 3600 if has_values(jobs, "duration_s") else None
    if hours is None:
        return []
    told = []
    for one in COMPARISONS:
        recorded = has_values(jobs, one.request) and has_values(jobs, one.use)
        if one.name == "run time" or not recorded:
            continue
        asked = numbers(jobs, one.request) * hours * instances_of(jobs)
        used = numbers(jobs, one.use) * one.factor * hours * instances_of(jobs)
        known = (asked > 0) & np.isfinite(used)
        if not known.any():
            continue
        found = ratio(used[known], asked[known], _days(jobs[known])).scaled(100)
        told.append(
            {
                "name": one.name, "unit": one.unit, "jobs": int(known.sum()),
                "asked_h": float(asked[known].sum()), "used_h": float(used[known].sum()),
                **found.to_dict(),
            }
        )  # fmt: skip
    return told


def _waits(jobs: pd.DataFrame) -> dict[str, Any]:
    if not has_values(jobs, "wait_s"):
        return {"missing": "the trace records no waits"}
    known = jobs[jobs["wait_s"].notna()]
    waits, days = numbers(known, "wait_s"), _days(known)
    return {
        "jobs": len(known),
        "median": quantile(waits, 0.5, days).to_dict(),
        "p95": quantile(waits, 0.95, days).to_dict(),
        "waited_pct": float(100 * (waits > 60).mean()),
    }


def _days(jobs: pd.DataFrame) -> Blocks:
    """Return the day of each job; one day for all where there is no clock."""
    clock = next((name for name in ("submit_s", "start_s") if has_values(jobs, name)), None)
    return calendar_blocks(
        np.zeros(len(jobs)) if clock is None else np.nan_to_num(numbers(jobs, clock))
    )
