"""Usage series of containers, VMs and jobs: how many, how often sampled, how large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.trace.describe.distribution import Curve, Distribution, curve_of, distribution_of
from prophase.trace.describe.part import NotComputable, codes_of, has_values, numbers
from prophase.trace.schema import USAGE

#: a step this many times the usual one is a gap
_GAP = 1.5


@dataclass(frozen=True)
class Metric:
    """One measured quantity over all samples of all series."""

    name: str
    unit: str
    values: Distribution
    curve: Curve


@dataclass(frozen=True)
class UsageSeries:
    """All usage series of a trace."""

    series: int
    samples: int
    samples_per_series: Distribution
    length_s: Distribution
    step_s: Distribution
    usual_step_s: float
    #: share of steps that differ from the usual one by more than a tenth
    irregular_share: float
    #: steps longer than one and a half usual ones
    gaps: int
    series_with_gaps: int
    longest_gap_s: float
    metrics: tuple[Metric, ...]


def describe_usage(usage: pd.DataFrame) -> UsageSeries | NotComputable:
    """Describe the usage table."""
    if not has_values(usage, "series_id", "time_s"):
        return NotComputable("the usage table has no samples with a series and a time")
    codes, names = codes_of(usage["series_id"])
    time = numbers(usage, "time_s")
    known = (codes >= 0) & ~np.isnan(time)
    order = np.lexsort((time[known], codes[known]))
    code, time = codes[known][order], time[known][order]
    firsts = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
    lasts = np.r_[firsts[1:], code.size] - 1
    same = code[1:] == code[:-1]
    steps = np.diff(time)[same]
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else float("nan")
    wide = steps > _GAP * usual
    return UsageSeries(
        series=len(names),
        samples=len(usage),
        samples_per_series=distribution_of((lasts - firsts + 1).astype(np.float64)),
        length_s=distribution_of(time[lasts] - time[firsts]),
        step_s=distribution_of(steps),
        usual_step_s=usual,
        irregular_share=(
            float((np.abs(steps - usual) > 0.1 * usual).mean()) if steps.size else float("nan")
        ),
        gaps=int(wide.sum()),
        series_with_gaps=int(np.unique(code[1:][same][wide]).size),
        longest_gap_s=float(steps[wide].max(initial=0.0)),
        metrics=tuple(_metric(usage, str(c)) for c in usage.columns if _is_metric(usage, str(c))),
    )


def _is_metric(usage: pd.DataFrame, column: str) -> bool:
    numeric = pd.api.types.is_numeric_dtype(usage[column])
    return column not in ("series_id", "time_s") and numeric and has_values(usage, column)


def _metric(usage: pd.DataFrame, column: str) -> Metric:
    known = USAGE.get(column)
    values = numbers(usage, column)
    return Metric(column, known.unit if known else "", distribution_of(values), curve_of(values))
