"""How large the trace is, how many instances start together, what they request and use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from prophase.papers.findings.finding import (
    FigureDefinition,
    PublishedFinding,
    column,
    missing,
    weighted_quantile,
    weighted_share,
)
from prophase.trace.describe.column_arrays import Floats, has_values, numbers
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.trace_tables import Trace


def scale(trace: Trace) -> PublishedFinding:
    """Count GPUs, nodes, tasks, instances and users."""
    asked = (
        FigureDefinition("GPUs of all nodes", "GPUs", ("nodes.gpus",), _gpus, (6742.0,)),
        FigureDefinition("nodes", "", ("nodes.node_id",), lambda t: float(len(t.nodes)), (1897.0,)),
        FigureDefinition(
            "tasks: roles of each job, or jobs without roles", "", ("job_id",), tasks, (1.2e6,)
        ),
        FigureDefinition(
            "instances of all tasks",
            "",
            ("job_id",),
            lambda t: float(instances_of(t.jobs).sum()),
            (7.5e6,),
        ),
        FigureDefinition(
            "users", "", ("user",), lambda t: float(t.jobs["user"].nunique()), (1300.0,)
        ),
    )
    return PublishedFinding("scale", "Scale", tuple(one.of(trace) for one in asked))


def gangs(trace: Trace) -> PublishedFinding:
    """Say which share of instances can only start together with others."""
    # a column of ones says that rows are instances, not that nobody has company
    known = not missing(trace, "gang_size")
    several = "gang_size" if known or not _has_several(trace) else "instances"
    asked = FigureDefinition(
        f"instances of tasks with more than one ({several})",
        "%",
        (several,),
        lambda t: weighted_share(
            column(t, several) > 1, ~np.isnan(column(t, several)), instances_of(t.jobs)
        ),
        (85.0,),
    )
    return PublishedFinding("gangs", "Gang-scheduled instances", (asked.of(trace),))


def tasks(trace: Trace) -> float:
    """Count the roles of all jobs; without jobs and roles, the rows."""
    jobs = trace.jobs
    if has_values(jobs, "parent_id", "task"):
        return float(len(jobs[["parent_id", "task"]].drop_duplicates()))
    return float(len(jobs))


def _gpus(trace: Trace) -> float:
    return float(np.nansum(numbers(trace.nodes, "gpus")))


def _has_several(trace: Trace) -> bool:
    jobs = trace.tables.get("jobs")
    return jobs is not None and bool((numbers(jobs, "instances") > 1).any())


#: name, request, use, what turns the use into the unit of the request, published share
_COMPARED = (
    ("CPU", "request_cpu_cores", "cpu_mean_cores", 1.0, 84.5),
    ("GPU", "request_gpus", "gpu_util_mean_pct", 0.01, 98.0),
    ("memory", "request_memory_gib", "memory_mean_gib", 1.0, 95.9),
)


def large_requests(trace: Trace) -> PublishedFinding:
    """Return the 95th percentile of requests, and how far above the median it lies."""
    asked = []
    for name, request, unit, published in (
        ("CPU", "request_cpu_cores", "cores", 12.0),
        ("GPU", "request_gpus", "GPUs", 1.0),
        ("memory", "request_memory_gib", "GiB", 59.0),
    ):
        asked += [
            FigureDefinition(
                f"95th percentile of the {name} request of an instance",
                unit,
                (request,),
                _quantile(request, 0.95),
                (published,),
            ),
            FigureDefinition(
                f"the same, over the median {name} request",
                "times",
                (request,),
                _times_median(request),
                (2.0,),
                "over",
                "the median request is 0",
            ),
        ]
    return PublishedFinding(
        "large_requests",
        "Large requests",
        tuple(one.of(trace) for one in asked),
        "Over instances that ask for more than nothing.",
    )


def median_gpu(trace: Trace) -> PublishedFinding:
    """Compare the median GPU request with the median GPU use."""
    columns = ("request_gpus", "gpu_util_mean_pct")
    asked = (
        FigureDefinition(
            "median GPU request, instances with a request and a measured use",
            "GPUs",
            columns,
            lambda t: _median_of(t, column(t, "request_gpus")),
            (0.5,),
        ),
        FigureDefinition(
            "median GPU use of the same instances, 1 = one GPU busy all the time",
            "GPUs",
            columns,
            lambda t: _median_of(t, 0.01 * column(t, "gpu_util_mean_pct")),
            (0.042,),
        ),
    )
    return PublishedFinding(
        "median_gpu", "GPU request and use", tuple(one.of(trace) for one in asked)
    )


def over_asked(trace: Trace) -> PublishedFinding:
    """Say which share of tasks asks for more than it uses."""
    asked = (
        FigureDefinition(
            f"tasks whose {name} request exceeds the mean use of their instances",
            "%",
            (request, use),
            _above(request, use, factor),
            (published,),
        )
        for name, request, use, factor, published in _COMPARED
    )
    return PublishedFinding(
        "over_asked", "Requests above use", tuple(one.of(trace) for one in asked)
    )


def _quantile(request: str, share: float) -> Callable[[Trace], float | None]:
    def quantile(trace: Trace) -> float | None:
        values, weight = column(trace, request), instances_of(trace.jobs)
        rows = values > 0
        return weighted_quantile(values[rows], weight[rows], share)

    return quantile


def _times_median(request: str) -> Callable[[Trace], float | None]:
    def ratio(trace: Trace) -> float | None:
        high, middle = _quantile(request, 0.95)(trace), _quantile(request, 0.5)(trace)
        return high / middle if high and middle else None

    return ratio


def _median_of(trace: Trace, values: Floats) -> float | None:
    request, use = column(trace, "request_gpus"), column(trace, "gpu_util_mean_pct")
    rows = (request > 0) & ~np.isnan(use)
    return weighted_quantile(values[rows], instances_of(trace.jobs)[rows], 0.5)


def _above(request: str, use: str, factor: float) -> Callable[[Trace], float | None]:
    def share(trace: Trace) -> float | None:
        jobs = trace.jobs
        asked, used = column(trace, request), factor * column(trace, use)
        rows = (asked > 0) & ~np.isnan(used)
        if not rows.any():
            return None
        table = pd.DataFrame({"asked": asked[rows], "used": used[rows]})
        if has_values(jobs, "parent_id", "task"):
            keys = [jobs.loc[rows, key].astype(str).to_numpy() for key in ("parent_id", "task")]
            table = table.groupby(keys, sort=False).mean()
        return 100 * float((table["asked"] > table["used"]).mean())

    return share
