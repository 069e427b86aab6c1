"""How much there is of everything: jobs, users, queues, statuses, requested hours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.trace.column_table import distinct_in, missing_in
from prophase.trace.describe.column_arrays import Floats, has_values, numbers

_NAMES = ("parent_id", "user", "group", "queue", "workload", "task", "name", "gpu_type")
_LISTED = ("status", "queue", "workload", "task", "gpu_type")
_MOST_LISTED = 12


@dataclass(frozen=True)
class JobCounts:
    """Numbers of rows, of different names, and of hours asked for."""

    jobs: int
    #: column -> how many different values
    distinct: Mapping[str, int]
    #: column -> its most frequent values and their numbers of jobs
    most: Mapping[str, Mapping[str, int]]
    #: share of the jobs that the busiest 5 % of users submitted
    busiest_users_share: float
    instances: float
    #: share of the instances that start together with others
    gang_share: float
    gpu_hours: float
    core_hours: float


@dataclass(frozen=True)
class MissingColumn:
    """How many rows of one column are without a value."""

    table: str
    column: str
    missing: int
    share: float


def count_jobs(jobs: pd.DataFrame) -> JobCounts:
    """Count jobs, names and requested hours."""
    distinct = {name: distinct_in(jobs, name) for name in _NAMES if has_values(jobs, name)}
    most = {
        name: {str(k): int(n) for k, n in jobs[name].value_counts().head(_MOST_LISTED).items()}
        for name in _LISTED
        if has_values(jobs, name)
    }
    instances = instances_of(jobs)
    gang = numbers(jobs, "gang_size")
    known_gang = ~np.isnan(gang)
    share = np.nan
    if instances[known_gang].sum() > 0:
        share = instances[known_gang & (gang > 1)].sum() / instances[known_gang].sum()
    hours = numbers(jobs, "duration_s") / 3600 * instances
    return JobCounts(
        jobs=len(jobs),
        distinct=distinct,
        most=most,
        busiest_users_share=_busiest_share(jobs),
        instances=float(instances.sum()),
        gang_share=float(share),
        gpu_hours=total_of(numbers(jobs, "request_gpus") * hours),
        core_hours=total_of(numbers(jobs, "request_cpu_cores") * hours),
    )


def count_missing(tables: Mapping[str, pd.DataFrame]) -> tuple[MissingColumn, ...]:
    """Return how many values each column lacks, the emptiest first within its table."""
    found = []
    for name, table in tables.items():
        lacking = {str(column): missing_in(table, str(column)) for column in table.columns}
        columns = [
            MissingColumn(name, column, n, n / max(len(table), 1)) for column, n in lacking.items()
        ]
        found += sorted(columns, key=lambda column: -column.missing)
    return tuple(found)


def instances_of(jobs: pd.DataFrame) -> Floats:
    """Return how many identical instances a row stands for; 1 where nothing is said."""
    given = numbers(jobs, "instances")
    return np.where(np.isnan(given), 1.0, given)


def _busiest_share(jobs: pd.DataFrame) -> float:
    if not has_values(jobs, "user"):
        return float("nan")
    per_user = jobs["user"].value_counts().to_numpy()
    top = max(1, round(0.05 * per_user.size))
    return float(per_user[:top].sum() / per_user.sum())


def total_of(values: Floats) -> float:
    """Return the sum of the values that are known; NaN if none is."""
    known = values[~np.isnan(values)]
    return float(known.sum()) if known.size else float("nan")
