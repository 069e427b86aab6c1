"""Hold a PAI-like job table against the published figures of the real one.

Published: Weng et al., "MLaaS in the Wild", NSDI 2022, and its public talks; the mix of
workloads is Table I of the Polaris profiler paper; how much two runs of a group differ
was measured on a public sample of 999 rows, see ``docs/explain/synthetic-traces.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from prophase.trace.synth import pai_world as world
from prophase.trace.synth.generator import Floats
from prophase.trace.trace_tables import Trace


class PaiFigure(NamedTuple):
    """One published number, how it is measured on a job table, and how near is near."""

    name: str
    published: float
    tolerance: float
    measure: Callable[[pd.DataFrame], float]
    unit: str = ""
    source: str = "NSDI 2022"


def measured(jobs: pd.DataFrame) -> dict[str, float]:
    """Return every figure of a job table; missing where it lacks the columns or rows.

    Examples
    --------
    >>> jobs = pd.DataFrame({"request_gpus": [0.25, 0.5, 0.5], "instances": [1.0, 1, 1]})
    >>> measured(jobs)["GPU request, median"]
    0.5
    """
    return {figure.name: _or_missing(figure.measure, jobs) for figure in FIGURES}


def compare_with_published(trace: Trace, real: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return one line per published figure: published, real sample, synthetic, near enough?

    Parameters
    ----------
    trace : Trace
        A trace of :func:`make_pai`, or any trace with the columns of PAI.
    real : DataFrame, optional
        Job table of real PAI rows, shown beside.

    Returns
    -------
    DataFrame
        ``figure``, ``unit``, ``source``, ``published``, ``real`` (if given), ``synthetic``,
        ``tolerance`` (how far the synthetic one may be from the published one) and
        ``within``.

    Examples
    --------
    >>> from prophase.trace.synth.pai import make_pai
    >>> table = compare_with_published(make_pai(jobs=20_000))
    >>> bool(table["within"].all())
    True
    """
    synthetic = measured(trace.jobs)
    beside = measured(real) if real is not None else {}
    rows = []
    for figure in FIGURES:
        value = synthetic[figure.name]
        rows.append(
            {
                "figure": figure.name,
                "unit": figure.unit,
                "source": figure.source,
                "published": figure.published,
                **({"real": beside[figure.name]} if real is not None else {}),
                "synthetic": value,
                "tolerance": figure.tolerance,
                "within": bool(abs(value - figure.published) <= figure.tolerance),
            }
        )
    return pd.DataFrame(rows)


def _or_missing(measure: Callable[[pd.DataFrame], float], jobs: pd.DataFrame) -> float:
    try:
        return float(measure(jobs))
    except (KeyError, IndexError, ZeroDivisionError):
        return float("nan")


def _quantile(column: str, share: float, factor: float = 1.0) -> Callable[..., float]:
    """Quantile over tasks that have a value, by linear interpolation inside the ranks."""

    def measure(jobs: pd.DataFrame) -> float:
        values = jobs[column].dropna()
        return factor * float(values.quantile(share)) if len(values) else float("nan")

    return measure


def _gpu_use(jobs: pd.DataFrame) -> float:
    return _quantile("gpu_util_mean_pct", 0.5, 0.01)(jobs[jobs["request_gpus"].notna()])


def _spread(jobs: pd.DataFrame) -> float:
    return float(np.log(jobs["duration_s"][jobs["duration_s"] > 0]).std())


def _above_use(request: str, use: str, factor: float = 1.0) -> Callable[..., float]:
    def measure(jobs: pd.DataFrame) -> float:
        known = jobs[request].notna() & jobs[use].notna()
        return 100 * float((jobs[request] > factor * jobs[use])[known].mean())

    return measure


def _gang_share(jobs: pd.DataFrame) -> float:
    instances = jobs["instances"].to_numpy(float)
    return 100 * float(instances[jobs["gang_size"] > 1].sum() / instances.sum())


def _instances_per_task(jobs: pd.DataFrame) -> float:
    tasks = jobs.groupby(["parent_id", "task"], sort=False)["instances"].sum()
    if (jobs["gang_size"] > tasks.max()).any():
        return float("nan")  # a sample of workers: their tasks are not complete
    return float(tasks.mean())


def _recurring(jobs: pd.DataFrame) -> float:
    tasks = jobs.drop_duplicates(["parent_id", "task"])
    runs = tasks.groupby(["group", "task"])["parent_id"].transform("size")
    return 100 * float((runs >= 5).mean())


def run_differences(jobs: pd.DataFrame) -> Floats:
    """Return how much two successive runs of one group and task differ, as a share of the longer.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "group": ["g", "g"],
    ...         "task": ["t", "t"],
    ...         "parent_id": ["1", "2"],
    ...         "status": "completed",
    ...         "duration_s": [80.0, 100.0],
    ...         "start_s": [0, 1],
    ...     }
    ... )
    >>> run_differences(jobs).tolist()
    [0.2]
    """
    done = jobs[(jobs["status"] == "completed") & jobs["group"].notna()]
    done = done.drop_duplicates(["parent_id", "task"]).sort_values(["group", "task", "start_s"])
    group = done["group"].to_numpy(object) + "/" + done["task"].to_numpy(object)
    duration = done["duration_s"].to_numpy(float)
    same = group[1:] == group[:-1]
    longer = np.maximum(duration[1:], duration[:-1])
    return np.asarray(np.abs(np.diff(duration))[same] / np.maximum(longer[same], 1e-9))


def _alike(at_most: float) -> Callable[..., float]:
    def measure(jobs: pd.DataFrame) -> float:
        differences = run_differences(jobs)
        return 100 * float((differences <= at_most).sum() / differences.size)

    return measure


def _wait(share: float, *, v100: bool) -> Callable[..., float]:
    def measure(jobs: pd.DataFrame) -> float:
        types = jobs["after_gpu_type"].fillna("CPU")
        mine = types.str.startswith("V100") if v100 else types.isin(["T4", "P100", "MISC"])
        waits = jobs.loc[mine, "wait_s"].dropna()
        return float(waits.quantile(share)) if len(waits) else float("nan")

    return measure


def _workload(name: str) -> Callable[..., float]:
    return lambda jobs: 100 * float((jobs["workload"].dropna() == name).mean())


_SAMPLE = "999 rows"
_TABLE_ONE = sum(world.WORKLOAD_ROWS.values())

FIGURES = (
    PaiFigure(
        "CPU request, median", 6.0, 0.0, _quantile("request_cpu_cores", 0.5), "cores", _SAMPLE
    ),
    PaiFigure("CPU request, p95", 12.0, 0.0, _quantile("request_cpu_cores", 0.95), "cores"),
    PaiFigure("memory request, p95", 59.0, 0.5, _quantile("request_memory_gib", 0.95), "GiB"),
    PaiFigure("GPU request, median", 0.5, 0.0, _quantile("request_gpus", 0.5), "GPUs"),
    PaiFigure("GPU request, p95", 1.0, 0.0, _quantile("request_gpus", 0.95), "GPUs"),
    PaiFigure("GPU use, median", 0.042, 0.01, _gpu_use, "GPUs"),
    PaiFigure("CPU request above use", 84.5, 3.0, _above_use("request_cpu_cores", "cpu_mean_cores"),
           "% of tasks"),
    PaiFigure("GPU request above use", 98.0, 1.5,
           _above_use("request_gpus", "gpu_util_mean_pct", 0.01), "% of tasks"),
    PaiFigure("memory request above use", 95.9, 1.5,
           _above_use("request_memory_gib", "memory_mean_gib"), "% of tasks"),
    PaiFigure("gang-scheduled instances", 85.0, 3.0, _gang_share, "%"),
    PaiFigure("instances per task", 6.2, 1.5, _instances_per_task),
    PaiFigure("tasks that run at least 5 times", 65.0, 3.0, _recurring, "%"),
    PaiFigure("two runs differ by at most 5 %", 21.0, 3.0, _alike(0.05), "% of pairs", _SAMPLE),
    PaiFigure("two runs differ by at most 20 %", 60.0, 3.0, _alike(0.2), "% of pairs", _SAMPLE),
    PaiFigure("two runs differ by at most 50 %", 81.0, 3.0, _alike(0.5), "% of pairs", _SAMPLE),
    PaiFigure("duration, median", 417.0, 150.0, _quantile("duration_s", 0.5), "s", _SAMPLE),
    PaiFigure("duration, p90", 6187.0, 2000.0, _quantile("duration_s", 0.9), "s", _SAMPLE),
    PaiFigure("spread of log duration", 2.10, 0.2, _spread, "", _SAMPLE),
    PaiFigure("wait for older GPUs, median", 11.0, 3.0, _wait(0.5, v100=False), "s"),
    PaiFigure("wait for older GPUs, p90", 360.0, 90.0, _wait(0.9, v100=False), "s"),
    PaiFigure("wait for V100, median", 113.0, 40.0, _wait(0.5, v100=True), "s"),
    PaiFigure("wait for V100, p90", 13_709.0, 5_000.0, _wait(0.9, v100=True), "s"),
    *(
        PaiFigure(f"workload {name}", 100 * rows / _TABLE_ONE, 0.1 + 0.05 * 100 * rows / _TABLE_ONE,
               _workload(name), "% of tasks", "Table I")
        for name, rows in world.WORKLOAD_ROWS.items()
    ),
)  # fmt: skip
