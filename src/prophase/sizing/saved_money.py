"""What recommended requests save in money: per run, per task and per month."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.sizing.kind_recommendation import ResourceRecommendations, as_rows
from prophase.sizing.replays.task_runs import known_before
from prophase.sizing.resources import RESOURCES
from prophase.stats import months_in
from prophase.trace.describe.column_arrays import Floats, numbers
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.prices import Prices


def saved_money(
    jobs: pd.DataFrame, found: ResourceRecommendations, prices: Prices
) -> list[JsonObject]:
    """Return a row per task: what its requests cost and what the recommendation saves.

    Parameters
    ----------
    jobs : DataFrame
        The jobs that the recommendations were made from.

    Returns
    -------
    list of dict
        ``task``, ``runs``, ``cost_per_run``, ``saved_per_run``, ``cost`` and ``saved`` of the whole
        history, ``cost_per_month`` and ``saved_per_month`` (missing if the history is shorter than
        a week). Kills in the back-test count against the saving. The last row is all tasks.

    Examples
    --------
    >>> from prophase.sizing.kind_recommendation import recommend
    >>> at = np.arange(40)
    >>> jobs = pd.DataFrame({"job_id": at.astype(str), "task": "align", "duration_s": 3600.0})
    >>> jobs["memory_peak_gib"], jobs["request_memory_gib"] = 2.0 + 0.1 * (at % 5), 16.0
    >>> jobs["submit_s"] = 86_400.0 * at
    >>> row = saved_money(jobs, recommend(jobs), Prices(gib_hour=0.01))[0]
    >>> round(row["cost_per_run"], 2), row["saved_per_run"] > 0.1
    (0.16, True)
    """
    what = RESOURCES[found.resource]
    cost = np.nan_to_num(
        what.requested(jobs) * numbers(jobs, "duration_s") / 3600 * instances_of(jobs)
    ) * _price(jobs, found.resource, prices)
    names = pd.Series(known_before(jobs, "strict", what)[0])
    by_task = pd.Series(cost).groupby(names.to_numpy())
    spent_on, runs_of = by_task.sum().to_dict(), by_task.size().to_dict()
    months = months_in(_span_s(jobs))
    rows: list[JsonObject] = []
    for one, shown in zip(found.tasks, as_rows(found), strict=True):
        spent, runs = float(spent_on.get(one.task, 0.0)), int(runs_of.get(one.task, 0))
        if not runs:
            continue
        saving = 0.0 if one.keep or math.isnan(one.saving) else one.saving
        rows.append(_row(str(shown["task"]), runs, spent, spent * saving, months))
    rows.sort(key=lambda row: -row["saved"])
    total = _row(
        "all tasks",
        sum(row["runs"] for row in rows),
        sum(row["cost"] for row in rows),
        sum(row["saved"] for row in rows),
        months,
    )
    return [*rows, total]


def reserved_cost(jobs: pd.DataFrame, prices: Prices) -> Floats:
    """Return what the requests of each job cost over its run time; NaN if it reserved nothing.

    Examples
    --------
    >>> jobs = pd.DataFrame({"request_memory_gib": [10.0, None], "duration_s": 7200.0})
    >>> reserved_cost(jobs, Prices(gib_hour=0.5)).tolist()
    [10.0, nan]
    """
    hours = numbers(jobs, "duration_s") / 3600 * instances_of(jobs)
    parts = [
        RESOURCES[name].requested(jobs) * hours * _price(jobs, name, prices)
        for name in ("memory", "cpu", "gpu")
    ]
    known = np.isfinite(parts).any(axis=0)
    return np.where(known, np.nansum(parts, axis=0), np.nan)


def _row(task: str, runs: int, cost: float, saved: float, months: float) -> JsonObject:
    def monthly(amount: float) -> float | None:
        return amount / months if months > 0 else None

    return {
        "task": task,
        "runs": runs,
        "cost_per_run": cost / runs if runs else None,
        "saved_per_run": saved / runs if runs else None,
        "cost": cost,
        "saved": saved,
        "cost_per_month": monthly(cost),
        "saved_per_month": monthly(saved),
    }


def _price(jobs: pd.DataFrame, resource: str, prices: Prices) -> Floats | float:
    """Return what an hour of one unit costs, for each job."""
    if resource == "memory":
        return prices.gib_hour
    if resource == "cpu":
        return prices.core_hour
    if resource == "gpu":
        kinds = jobs.get("gpu_type", pd.Series(pd.NA, jobs.index)).astype("string").fillna("")
        asking = np.nan_to_num(numbers(jobs, "request_gpus")) > 0
        known = {kind: prices.of_gpu(kind) for kind in kinds[asking].unique()}
        return np.array([known.get(kind, 0.0) for kind in kinds], np.float64)
    raise ParameterError(f"{resource} has no price. Prices are for memory, cpu and gpu.")


def _span_s(jobs: pd.DataFrame) -> float:
    first, last = numbers(jobs, "submit_s"), numbers(jobs, "end_s")
    first = first if np.isfinite(first).any() else numbers(jobs, "start_s")
    last = last if np.isfinite(last).any() else first
    if not np.isfinite(first).any():
        return 0.0
    return float(np.nanmax(np.fmax(first, last)) - np.nanmin(first))
