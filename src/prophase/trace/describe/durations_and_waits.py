"""Run times and waits of the whole trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.stats import Estimate, quantile
from prophase.trace.describe.column_arrays import NotComputable, has_values, numbers
from prophase.trace.describe.distribution import (
    Curve,
    Distribution,
    Histogram,
    curve_of,
    distribution_of,
    log_histogram,
)
from prophase.trace.describe.trace_clock import days_of


@dataclass(frozen=True)
class DurationSummary:
    """A length of time over all jobs: summary, histogram, distribution function."""

    column: str
    values: Distribution
    histogram: Histogram
    curve: Curve
    #: share of all job time that the longest 1 % of jobs take
    longest_share: float


@dataclass(frozen=True)
class Waits(DurationSummary):
    """Waits, and how they compare with the run times."""

    #: share of jobs that waited for more than half of their completion time
    mostly_waiting_share: float
    #: what half of the jobs, and 19 of 20, stay below, with intervals over days
    median: Estimate
    p95: Estimate


def describe_durations(jobs: pd.DataFrame) -> DurationSummary | NotComputable:
    """Return the run times of the trace."""
    if not has_values(jobs, "duration_s"):
        return NotComputable("no durations")
    values = numbers(jobs, "duration_s")
    return DurationSummary("duration_s", *_described(values))


def describe_waits(jobs: pd.DataFrame) -> Waits | NotComputable:
    """Return the waits of the trace."""
    if not has_values(jobs, "wait_s"):
        return NotComputable("no submit and start times")
    wait, duration = numbers(jobs, "wait_s"), numbers(jobs, "duration_s")
    both = ~np.isnan(wait) & ~np.isnan(duration)
    mostly = float((wait > duration)[both].mean()) if both.any() else float("nan")
    known = ~np.isnan(wait)
    days = days_of(jobs[known])
    median, p95 = (quantile(wait[known], part, days) for part in (0.5, 0.95))
    return Waits("wait_s", *_described(wait), mostly, median, p95)


def _described(values: np.ndarray) -> tuple[Distribution, Histogram, Curve, float]:
    known = np.sort(values[~np.isnan(values)])
    top = known[-max(1, round(0.01 * known.size)) :]
    total = float(known.sum())
    return (
        distribution_of(values),
        log_histogram(values),
        curve_of(values),
        float(top.sum()) / total if total > 0 else float("nan"),
    )
