"""What requests cost: the bill of each task per month."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sizing.assess.utilisation import task_names
from prophase.stats import months_in
from prophase.trace.describe.column_arrays import Floats, numbers
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.prices import Prices


def per_hour(
    jobs: pd.DataFrame,
    prices: Prices,
    *,
    memory_gib: Floats | None = None,
    cores: Floats | None = None,
) -> Floats:
    """Return what each job's request costs per hour, used or not, or what another would cost."""
    memory = numbers(jobs, "request_memory_gib") if memory_gib is None else memory_gib
    cpu = numbers(jobs, "request_cpu_cores") if cores is None else cores
    parts = (
        cpu * prices.core_hour,
        memory * prices.gib_hour,
        numbers(jobs, "request_gpus") * _gpu_prices(jobs, prices),
    )
    return np.asarray(sum(np.nan_to_num(part) for part in parts) * instances_of(jobs))


def _gpu_prices(jobs: pd.DataFrame, prices: Prices) -> Floats:
    if not prices.gpu_hour:
        return np.zeros(len(jobs))
    asking = np.nan_to_num(numbers(jobs, "request_gpus")) > 0
    kinds = jobs["gpu_type"] if "gpu_type" in jobs else pd.Series(None, jobs.index, dtype="string")
    named = kinds.astype("string").fillna("")[asking]
    known = {kind: prices.of_gpu(kind) for kind in named.unique()}
    cost = np.zeros(len(jobs))
    cost[asking] = named.map(known)
    return cost


def monthly_bill(
    jobs: pd.DataFrame,
    prices: Prices,
    *,
    memory_gib: Mapping[str, float],
    cores: Mapping[str, float],
) -> pd.DataFrame:
    """Return each task's cost per month, now and with other requests.

    Parameters
    ----------
    memory_gib, cores : mapping
        Task -> what it would ask for; tasks that are not there keep their request.

    Returns
    -------
    DataFrame
        ``task``, ``cost_per_month``, ``advised_cost_per_month``, ``saved_per_month``, the
        dearest first.
    """
    hours = numbers(jobs, "duration_s") / 3600
    if np.isnan(hours).all():
        raise InputError("no job has a duration_s, so nothing can be priced.")
    tasks = task_names(jobs)

    def asked(column: str, recommended: Mapping[str, float]) -> Floats:
        other = tasks.map(dict(recommended)).to_numpy(np.float64, na_value=np.nan)
        return np.where(np.isnan(other), numbers(jobs, column), other)

    now = per_hour(jobs, prices) * hours
    then = hours * per_hour(
        jobs,
        prices,
        memory_gib=asked("request_memory_gib", memory_gib),
        cores=asked("request_cpu_cores", cores),
    )
    table = pd.DataFrame(
        {
            "task": tasks.to_numpy(),
            "cost_per_month": np.nan_to_num(now),
            "advised_cost_per_month": np.nan_to_num(then),
        }
    )
    table = table.groupby("task", sort=False).sum().reset_index()
    table["saved_per_month"] = table["cost_per_month"] - table["advised_cost_per_month"]
    table = table.sort_values("cost_per_month", ascending=False, ignore_index=True)
    money = ["cost_per_month", "advised_cost_per_month", "saved_per_month"]
    table[money] = table[money] / months_of(jobs)
    return table


def months_of(jobs: pd.DataFrame) -> float:
    """Return how many months the jobs span; NaN if that is unknown or less than a week."""
    first = np.fmin(numbers(jobs, "submit_s"), numbers(jobs, "start_s"))
    last = np.fmax(numbers(jobs, "end_s"), numbers(jobs, "submit_s"))
    if np.isnan(first).all() or np.isnan(last).all():
        return math.nan
    return months_in(float(np.nanmax(last) - np.nanmin(first)))
