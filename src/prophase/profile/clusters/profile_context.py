"""What single profiles are compared with: use of all jobs, and when jobs of each profile come."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.json_types import JsonObject
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.trace.describe.column_arrays import has_values, numbers
from prophase.trace.describe.trace_clock import WEEKDAYS, hour_of_week, knows_weekdays

_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}


def profile_context(profiler: WorkloadProfiler, jobs: pd.DataFrame, clock: str) -> JsonObject:
    """Return quantiles of every metric over all jobs, and per profile the jobs of each hour."""
    metrics = sorted({metric for one in profiler.profiles_ for metric in one.dynamic})
    same = profiler.recognise(jobs)
    return {
        "jobs": len(jobs),
        "overall": {m: _quantiles(jobs, m) for m in metrics if has_values(jobs, m)},
        "hours": _hours(same.jobs, np.asarray(same.labels), clock),
    }


def _quantiles(jobs: pd.DataFrame, metric: str) -> dict[str, float]:
    known = numbers(jobs, metric)
    known = known[np.isfinite(known)]
    return {name: float(np.quantile(known, q)) for name, q in _QUANTILES.items()}


def _hours(jobs: pd.DataFrame, labels: np.ndarray, clock: str) -> JsonObject | None:
    """Return per profile how many jobs came in each hour of each day."""
    if not has_values(jobs, "submit_s"):
        return None
    when = numbers(jobs, "submit_s")
    known = np.isfinite(when)
    labels = labels[known]
    hour = hour_of_week(when[known], clock)
    dated = knows_weekdays(clock)
    days = list(WEEKDAYS) if dated else [f"day {1 + one}" for one in range(hour.max() // 24 + 1)]
    counts = {}
    for label in np.unique(labels):
        flat = np.bincount(hour[labels == label], minlength=24 * len(days))
        counts[str(label)] = flat.reshape(-1, 24).tolist()
    return {"days": days, "counts": counts}
