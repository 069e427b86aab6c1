"""Requests against use: how much of what was asked for was needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.stats import Estimate, ratio
from prophase.trace.describe.column_arrays import (
    Floats,
    NotComputable,
    codes_of,
    has_values,
    numbers,
)
from prophase.trace.describe.distribution import Curve, Distribution, curve_of, distribution_of
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.describe.trace_clock import days_of

#: more groups than this are not kept; those with the largest allocations are
_MOST_GROUPS = 200


@dataclass(frozen=True)
class Comparison:
    """Which columns are compared, and in which unit."""

    name: str
    request: str
    use: str
    unit: str
    #: turns the use into the unit of the request
    factor: float = 1.0


COMPARISONS = (
    Comparison("CPU, mean use", "request_cpu_cores", "cpu_mean_cores", "cores"),
    Comparison("CPU, peak use", "request_cpu_cores", "cpu_peak_cores", "cores"),
    Comparison("memory, mean use", "request_memory_gib", "memory_mean_gib", "GiB"),
    Comparison("memory, peak use", "request_memory_gib", "memory_peak_gib", "GiB"),
    Comparison("GPU, mean use", "request_gpus", "gpu_util_mean_pct", "GPUs", 0.01),
    Comparison("run time", "time_limit_s", "duration_s", "s"),
)


@dataclass(frozen=True)
class GroupUse:
    """Utilisation of the jobs of one task or workload."""

    name: str
    jobs: int
    allocated_hours: float
    utilisation: float


@dataclass(frozen=True)
class RequestUse:
    """Requests against use for one resource."""

    resource: str
    request: str
    use: str
    unit: str
    #: rows with a request above zero and a measured use, and the other rows
    jobs: int
    without: int
    #: sum of use over sum of request, each times duration and instances
    utilisation: float
    #: the same with its interval over days, in percent
    used_pct: Estimate
    #: request times hours, and the part of it that was not used
    requested_hours: float
    unused_hours: Estimate
    weighted_by: str
    request_above_use_share: float
    request_above_twice_use_share: float
    use_above_request_share: float
    median_request: float
    median_use: float
    ratio: Curve
    by_task: tuple[GroupUse, ...]
    by_workload: tuple[GroupUse, ...]


@dataclass(frozen=True)
class Utilisation:
    """All resources that have both a request and a use."""

    resources: tuple[RequestUse, ...]
    not_computable: Mapping[str, str]


def describe_requests(jobs: pd.DataFrame) -> dict[str, Distribution] | NotComputable:
    """Return the distribution of every kind of request, per instance."""
    columns = ("request_cpu_cores", "request_memory_gib", "request_gpus", "instances", "gang_size")
    found = {
        column: distribution_of(numbers(jobs, column))
        for column in (*columns, "time_limit_s")
        if has_values(jobs, column)
    }
    return found or NotComputable("no requests")


def describe_utilisation(jobs: pd.DataFrame) -> Utilisation | NotComputable:
    """Compare what jobs asked for with what they used, per resource, task and workload.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "request_cpu_cores": [4.0, 2.0],
    ...         "cpu_mean_cores": [1.0, 2.0],
    ...         "duration_s": [100.0, 300.0],
    ...     }
    ... )
    >>> describe_utilisation(jobs).resources[0].utilisation
    0.7
    """
    found, absent = [], {}
    for comparison in COMPARISONS:
        lacking = [c for c in (comparison.request, comparison.use) if not has_values(jobs, c)]
        if lacking:
            absent[comparison.name] = f"no {' and no '.join(lacking)}"
            continue
        result = _compare(jobs, comparison)
        if result is None:
            absent[comparison.name] = (
                f"no job has both a {comparison.request} above zero and a {comparison.use}"
            )
        else:
            found.append(result)
    if not found:
        return NotComputable("no resource has both a request and a measured use")
    return Utilisation(tuple(found), absent)


def _compare(jobs: pd.DataFrame, comparison: Comparison) -> RequestUse | None:
    request = numbers(jobs, comparison.request)
    use = numbers(jobs, comparison.use) * comparison.factor
    duration = numbers(jobs, "duration_s")
    weight = instances_of(jobs)
    weighted_by = "instances"
    if comparison.use != "duration_s" and has_values(jobs, "duration_s"):
        weight, weighted_by = weight * duration, "duration and instances"
    both = (request > 0) & ~np.isnan(use) & ~np.isnan(weight)
    if not both.any():
        return None
    request, use, weight = request[both], use[both], weight[both]
    used = ratio(use * weight, request * weight, days_of(jobs[both]))
    requested_hours = float((request * weight).sum()) / 3600
    return RequestUse(
        resource=comparison.name,
        request=comparison.request,
        use=comparison.use,
        unit=comparison.unit,
        jobs=int(both.sum()),
        without=int((~both).sum()),
        utilisation=used.value,
        used_pct=used.within(0.0).scaled(100),
        requested_hours=requested_hours,
        unused_hours=used.mapped(lambda share: requested_hours * (1 - share)),
        weighted_by=weighted_by,
        request_above_use_share=float((request > use).mean()),
        request_above_twice_use_share=float((request > 2 * use).mean()),
        use_above_request_share=float((use > request).mean()),
        median_request=float(np.median(request)),
        median_use=float(np.median(use)),
        ratio=curve_of(use / request),
        by_task=_by_group(jobs, "task", both, use * weight, request * weight),
        by_workload=_by_group(jobs, "workload", both, use * weight, request * weight),
    )


def _by_group(
    jobs: pd.DataFrame, column: str, rows: np.ndarray, used: Floats, allocated: Floats
) -> tuple[GroupUse, ...]:
    """Return the groups with the largest allocations, largest first."""
    if not has_values(jobs, column):
        return ()
    codes, names = codes_of(jobs.loc[rows, column])
    named = codes >= 0
    codes, used, allocated = codes[named], used[named], allocated[named]
    size = len(names)
    number = np.bincount(codes, minlength=size)
    use_sum = np.bincount(codes, weights=used, minlength=size)
    request_sum = np.bincount(codes, weights=allocated, minlength=size)
    order = np.argsort(-request_sum, kind="stable")[:_MOST_GROUPS]
    return tuple(
        GroupUse(
            name=names[place],
            jobs=int(number[place]),
            allocated_hours=float(request_sum[place] / 3600),
            utilisation=_share(use_sum[place], request_sum[place]),
        )
        for place in order
    )


def _share(used: Floats | float, allocated: Floats | float) -> float:
    total = float(np.sum(allocated))
    return float(np.sum(used)) / total if total > 0 else float("nan")
