"""Which tasks use several cores, and how many cores each should ask for."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sizing.assess.task_groups import FEWEST_RUNS
from prophase.sizing.assess.utilisation import RESOURCES, measured, refuse_negative, task_names
from prophase.trace.describe.column_arrays import numbers

#: a run used several cores if it used more than this; one busy core is measured as up to 1.2
SEVERAL_CORES = 1.5
#: a task is parallel if more than this share of its runs used several cores
PARALLEL_SHARE = 0.05


def core_requests(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return for each task whether it is parallel, and the cores it should ask for.

    CPU can be shared, so a task that never uses a second core is given one. A parallel task is
    given what 99 % of its runs stayed below, in whole cores.

    Parameters
    ----------
    jobs : DataFrame
        A job table with ``cpu_peak_cores``, or ``cpu_mean_cores`` if peaks are unknown.

    Returns
    -------
    DataFrame
        ``task``, ``runs``, ``request_cores`` (median), ``median_cores``, ``p99_cores``,
        ``parallel``, ``advice_cores``, which is the request where it is kept, and
        ``core_advice``, the same in words.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "task": ["load"] * 30 + ["join"] * 30,
    ...         "request_cpu_cores": [4.0] * 30 + [5.0] * 30,
    ...         "cpu_peak_cores": [0.9] * 30 + [2.2, 4.6] * 15,
    ...     }
    ... )
    >>> core_requests(jobs)[["task", "parallel", "core_advice"]].values.tolist()
    [['load', False, 'ask for 1'], ['join', True, 'keep: uses them']]
    """
    refuse_negative(jobs)
    use = measured(jobs, RESOURCES[0])
    if use is None:
        raise InputError("no job has both request_cpu_cores and a measured CPU use.")
    rows = pd.DataFrame(
        {
            "task": task_names(jobs).to_numpy(),
            "cores": numbers(jobs, use),
            "request": numbers(jobs, "request_cpu_cores"),
        }
    ).dropna()
    by_task = rows.groupby("task", sort=False)
    table = pd.DataFrame(
        {
            "runs": by_task.size(),
            "request_cores": by_task["request"].median(),
            "median_cores": by_task["cores"].median(),
            "p99_cores": by_task["cores"].quantile(0.99),
            "parallel": (rows["cores"] > SEVERAL_CORES).groupby(rows["task"], sort=False).mean()
            > PARALLEL_SHARE,
        }
    ).reset_index()
    needed = np.where(table["parallel"], np.ceil(table["p99_cores"]), 1.0)
    few = table["runs"] < FEWEST_RUNS
    kept = few | (table["request_cores"] <= needed)
    cores = np.where(kept, table["request_cores"], needed)
    why = np.where(few, "keep: too few runs", "keep: uses them")
    words = [
        reason if keep else f"ask for {needs:g}"
        for reason, keep, needs in zip(why, kept, cores, strict=True)
    ]
    return table.assign(advice_cores=cores, core_advice=words)
