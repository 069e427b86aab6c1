"""Light, moderate and heavy tasks: groups by the memory they reach, with static recommendations.

Tasks are grouped by the memory they reach times how far that lies above their usual run: both
make a static request wasteful. Groups are exact (natural breaks of the logarithm), split off
only where they are at least a factor of two apart, and three at most, as in the thesis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sizing.assess.utilisation import refuse_negative, task_names
from prophase.sizing.resources import COARSE, round_up
from prophase.trace.describe.column_arrays import Floats, Ints, numbers

#: names of so many groups
NAMES = {1: ("light",), 2: ("light", "heavy"), 3: ("light", "moderate", "heavy")}
#: neighbouring groups differ at least by this factor
_APART = 2.0
#: the recommendation for tasks that no static request suits
PREDICT = "predict each run"
#: with fewer runs than this a task keeps its request
FEWEST_RUNS = 30
#: a peak this close to the request was probably cut off by it
_AT_LIMIT = 0.99
#: peaks below this count as this, GiB; it keeps logarithms finite
_LEAST_GIB = 1e-3
#: no recommendation is below this: a container needs some memory before its task begins
_LEAST_ADVICE_GIB = 0.1
#: a heavy task is steady, and a static request fits it, if its largest peak is at most this many
#: times its median
_STEADY = 2.0


def cluster_tasks(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return each task's memory statistics, its group, and what it should ask for as a rule.

    Light and moderate tasks get one static request per group: the largest peak of the group,
    rounded up to 1, 2 or 5 times a power of ten. A heavy task gets its own if its runs are
    alike; otherwise it is to be predicted.

    Parameters
    ----------
    jobs : DataFrame
        A job table with ``memory_peak_gib``.

    Returns
    -------
    DataFrame
        One row per task, from light to heavy: ``task``, ``cluster``, ``runs``, ``request_gib``
        (median), ``mean_gib``, ``median_gib``, ``p95_gib``, ``max_gib``, ``at_limit`` (runs
        killed for lack of memory, or that used all they asked for), ``advice_gib`` (missing if
        the request is kept) and ``advice``.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "task": ["load"] * 40 + ["train"] * 40,
    ...         "request_memory_gib": [20.0] * 40 + [350.0] * 40,
    ...         "memory_peak_gib": [1.1, 1.6] * 20 + [2.0] * 38 + [170.0] * 2,
    ...     }
    ... )
    >>> cluster_tasks(jobs)[["task", "cluster", "advice"]].values.tolist()
    [['load', 'light', 'ask for 2'], ['train', 'heavy', 'predict each run']]
    """
    refuse_negative(jobs)
    peak = numbers(jobs, "memory_peak_gib")
    if np.isnan(peak).all():
        raise InputError(
            "no job has a memory_peak_gib, so tasks cannot be grouped by the memory they need."
        )
    table = _statistics(jobs, peak)
    usual, most = (
        np.maximum(table[name].to_numpy(float), _LEAST_GIB) for name in ("median_gib", "max_gib")
    )
    groups = natural_breaks(np.log(most) + np.log(most / usual))
    names = NAMES[int(groups.max()) + 1]
    table.insert(1, "cluster", [names[group] for group in groups])
    order = np.lexsort((table["max_gib"].to_numpy(float), groups))
    return _with_advice(table.iloc[order].reset_index(drop=True))


def cluster_statistics(tasks: pd.DataFrame, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the memory statistics of each group over all runs of its tasks (Fig. 13)."""
    of_task = dict(zip(tasks["task"], tasks["cluster"], strict=True))
    peaks = pd.DataFrame(
        {
            "cluster": task_names(jobs).map(of_task).to_numpy(),
            "peak": numbers(jobs, "memory_peak_gib"),
        }
    ).dropna()
    found = peaks.groupby("cluster")["peak"]
    table = pd.DataFrame(
        {
            "tasks": tasks.groupby("cluster").size(),
            "runs": found.size(),
            "mean_gib": found.mean(),
            "std_gib": found.std(),
            "min_gib": found.min(),
            "median_gib": found.median(),
            "p95_gib": found.quantile(0.95),
            "max_gib": found.max(),
        }
    )
    order = [name for name in NAMES[3] if name in table.index]
    return table.loc[order].rename_axis("cluster").reset_index()


def natural_breaks(values: Floats, most: int = 3) -> Ints:
    """Return the group of each value, 0 the lowest: least squares within groups, well apart.

    Examples
    --------
    >>> natural_breaks(np.log([1.0, 1.2, 9.0, 170.0])).tolist()
    [0, 0, 1, 2]
    >>> natural_breaks(np.log([1.0, 1.2, 1.3])).tolist()
    [0, 0, 0]
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    for count in range(min(most, len(values)), 1, -1):
        starts = _best_starts(ranked, count)
        centres = np.add.reduceat(ranked, starts) / np.diff([*starts, len(ranked)])
        if (np.diff(centres) >= np.log(_APART)).all():
            groups = np.zeros(len(values), dtype=np.int64)
            groups[order] = np.searchsorted(starts, np.arange(len(values)), side="right") - 1
            return groups
    return np.zeros(len(values), dtype=np.int64)


def _best_starts(ranked: Floats, count: int) -> Ints:
    """Return where groups begin so that squares within them are least: by dynamic programming."""
    size = len(ranked)
    total = np.concatenate([[0.0], np.cumsum(ranked)])
    square = np.concatenate([[0.0], np.cumsum(ranked**2)])

    def within(first: Ints, end: int) -> Floats:
        held = end - first
        between = total[end] - total[first]
        return np.asarray(square[end] - square[first] - between**2 / held)

    least = np.full((count, size + 1), np.inf)
    begin = np.zeros((count, size + 1), dtype=np.int64)
    for end in range(1, size + 1):
        least[0, end] = within(np.array([0]), end)[0]
    for group in range(1, count):
        for end in range(group + 1, size + 1):
            first = np.arange(group, end)
            cost = least[group - 1, first] + within(first, end)
            best = int(np.argmin(cost))
            least[group, end], begin[group, end] = cost[best], first[best]
    starts, end = [], size
    for group in range(count - 1, -1, -1):
        starts.append(int(begin[group, end]))
        end = starts[-1]
    return np.array(starts[::-1], dtype=np.int64)


def _statistics(jobs: pd.DataFrame, peak: Floats) -> pd.DataFrame:
    request = numbers(jobs, "request_memory_gib")
    killed = (
        jobs["status"].eq("oom").to_numpy(dtype=bool, na_value=False)
        if "status" in jobs
        else np.zeros(len(jobs), dtype=bool)
    )
    rows = pd.DataFrame(
        {
            "task": task_names(jobs).to_numpy(),
            "peak": peak,
            "request": request,
            "at_limit": (killed | (peak >= _AT_LIMIT * request)).astype(np.int64),
        }
    )
    rows = rows[~np.isnan(peak)]
    by_task = rows.groupby("task", sort=False)
    found = by_task["peak"]
    return pd.DataFrame(
        {
            "runs": found.size(),
            "request_gib": by_task["request"].median(),
            "mean_gib": found.mean(),
            "median_gib": found.median(),
            "p95_gib": found.quantile(0.95),
            "max_gib": found.max(),
            "at_limit": by_task["at_limit"].sum(),
        }
    ).reset_index()


def _with_advice(table: pd.DataFrame) -> pd.DataFrame:
    reach = table.groupby("cluster")["max_gib"].max()
    amounts, words = [], []
    for row in table.to_dict("records"):
        heavy = row["cluster"] == "heavy"
        steady = row["max_gib"] <= _STEADY * row["median_gib"]
        # a request for many tasks is rounded generously, one for a single task closely
        fitting = (
            round_up(float(row["max_gib"]))
            if heavy
            else round_up(float(reach[row["cluster"]]), COARSE)
        )
        static = max(fitting, _LEAST_ADVICE_GIB)
        reason = _keep(row, static if steady or not heavy else None)
        if reason:
            amounts.append(np.nan)
            words.append(f"keep: {reason}")
        elif heavy and not steady:
            amounts.append(np.nan)
            words.append(PREDICT)
        else:
            amounts.append(static)
            words.append(f"ask for {static:g}")
    return table.assign(advice_gib=amounts, advice=words)


def _keep(row: dict[Any, Any], static: float | None) -> str:
    """Return why a task keeps its request, or nothing; ``static`` is what it would ask for."""
    runs, request, at_limit = row["runs"], row["request_gib"], row["at_limit"]
    if at_limit:
        times = "once" if at_limit == 1 else f"{at_limit:,} times"
        return f"it reached its limit {times}, its need may be higher"
    if runs < FEWEST_RUNS:
        return f"too few runs ({runs})"
    if static is not None and request <= static:
        return f"asks for no more than {static:g}"
    return ""
