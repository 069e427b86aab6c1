"""Utilisation: the sum of what was used over the sum of what was asked for (Table 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.plural import counted
from prophase.trace.describe.column_arrays import Floats, numbers
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.identity.job_identity import identity_keys, shown_keys, with_identity
from prophase.trace.identity.rule import UNNAMED

#: the row that stands for all tasks together
ALL = "all tasks"
#: what rows without a task are counted under
NO_TASK = "(no task)"


class UtilisedResource(NamedTuple):
    """What a job asks for, and the columns that measure how much of it was used."""

    name: str
    unit: str
    request: str
    #: the first of these that has values counts
    uses: tuple[str, ...]
    #: turns the use into the unit of the request
    factor: float = 1.0


RESOURCES = (
    UtilisedResource("cpu", "cores", "request_cpu_cores", ("cpu_peak_cores", "cpu_mean_cores")),
    UtilisedResource("memory", "GiB", "request_memory_gib", ("memory_peak_gib", "memory_mean_gib")),
    UtilisedResource("gpu", "GPUs", "request_gpus", ("gpu_util_mean_pct",), 0.01),
    UtilisedResource("time", "s", "time_limit_s", ("duration_s",)),
)


def utilisation(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return how much of each requested resource was used, of all tasks and of each.

    Parameters
    ----------
    jobs : DataFrame
        A job table. Rows without a request or without a measured use do not count.

    Returns
    -------
    DataFrame
        One row per resource and task: ``resource``, ``task``, ``use`` (the column that was
        measured), ``runs``, ``without`` (rows that do not count), ``used`` and ``allocated``
        (sums over instances, in the resource's unit), ``utilisation_pct``, and
        ``utilisation_by_time_pct``, where long runs count for more.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "task": ["load", "train"],
    ...         "request_memory_gib": [20.0, 100.0],
    ...         "memory_peak_gib": [2.0, 40.0],
    ...     }
    ... )
    >>> utilisation(jobs)[["resource", "task", "utilisation_pct"]].values.tolist()
    [['memory', 'all tasks', 35.0], ['memory', 'train', 40.0], ['memory', 'load', 10.0]]
    """
    refuse_negative(jobs)
    tasks = task_names(jobs)
    parts = [
        rows
        for resource in RESOURCES
        for use in [measured(jobs, resource)]
        if use is not None
        for rows in [_of_resource(jobs, tasks, resource, use)]
        if len(rows)
    ]
    if not parts:
        raise InputError(
            "no job has both a request and a measured use, so nothing can be assessed. Needed are "
            "for example request_memory_gib and memory_peak_gib."
        )
    return pd.concat(parts, ignore_index=True)


def task_names(jobs: pd.DataFrame) -> pd.Series[str]:
    """Return the kind of each job as people see it."""
    keys = identity_keys(with_identity(jobs))
    shown = shown_keys(keys)
    names = [NO_TASK if key == ("", UNNAMED) else shown[key] for key in keys]
    return pd.Series(names, index=jobs.index, dtype="str")


def measured(jobs: pd.DataFrame, resource: UtilisedResource) -> str | None:
    """Return the column that measures the use of a resource, if there is one beside its request."""
    if resource.request not in jobs or not jobs[resource.request].notna().any():
        return None
    return next((use for use in resource.uses if use in jobs and jobs[use].notna().any()), None)


def refuse_negative(jobs: pd.DataFrame) -> None:
    """Say which requests or uses are below zero; nothing true can be computed from them."""
    for column in {name for one in RESOURCES for name in (one.request, *one.uses)}:
        below = numbers(jobs, column) < 0
        if below.any():
            first = jobs.index[below][0]
            raise InputError(
                f"{column} is below 0 in {counted(int(below.sum()), 'row')}, first in row {first}. "
                "Correct the source, or make these values missing."
            )


def _of_resource(
    jobs: pd.DataFrame, tasks: pd.Series[str], resource: UtilisedResource, use: str
) -> pd.DataFrame:
    count = instances_of(jobs)
    request, used = numbers(jobs, resource.request), numbers(jobs, use) * resource.factor
    duration = numbers(jobs, "duration_s")
    both = (request > 0) & ~np.isnan(used) & ~np.isnan(count)
    rows = pd.DataFrame(
        {
            "task": tasks.to_numpy(),
            "runs": both.astype(np.int64),
            "without": (~both).astype(np.int64),
            "used": _kept(used * count, both),
            "allocated": _kept(request * count, both),
            "used_time": _kept(used * count * duration, both),
            "allocated_time": _kept(request * count * duration, both),
        }
    )
    amounts = list(rows.columns[1:])
    per_task = rows.groupby("task", sort=False)[amounts].sum().reset_index()
    per_task = per_task.sort_values("allocated", ascending=False, kind="stable")
    whole = pd.DataFrame([{"task": ALL, **rows[amounts].sum().to_dict()}])
    table = pd.concat([whole, per_task[per_task["runs"] > 0]], ignore_index=True)
    if not whole["runs"].iloc[0]:
        return table.iloc[:0]
    timed = table["allocated_time"] > 0
    return pd.DataFrame(
        {
            "resource": resource.name,
            "unit": resource.unit,
            "task": table["task"],
            "use": use,
            "runs": table["runs"].astype(np.int64),
            "without": table["without"].astype(np.int64),
            "used": table["used"],
            "allocated": table["allocated"],
            "utilisation_pct": 100 * table["used"] / table["allocated"],
            "utilisation_by_time_pct": (100 * table["used_time"] / table["allocated_time"]).where(
                timed
            ),
        }
    )


def _kept(values: Floats, rows: np.ndarray) -> Floats:
    """Return the values of the rows that count; what is unknown or does not count adds nothing."""
    return np.where(rows & ~np.isnan(values), values, 0.0)
