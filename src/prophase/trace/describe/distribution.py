"""The distribution of one column, of the run times and of the waits: moments, quantiles, curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.stats import Estimate, quantile
from prophase.trace.describe.column_arrays import Floats, NotComputable, has_values, numbers
from prophase.trace.describe.trace_clock import days_of

#: name -> probability, from the least to the greatest
_PERCENTILES = ("01", "05", "10", "25", "50", "75", "90", "95", "99", "99.9")
QUANTILES: Mapping[str, float] = {
    "min": 0.0,
    **{f"p{text}": round(float(text) / 100, 3) for text in _PERCENTILES},
    "max": 1.0,
}
_CURVE = np.unique(np.r_[np.linspace(0.0, 1.0, 101), 0.001, 0.005, 0.995, 0.999])


@dataclass(frozen=True)
class Distribution:
    """How the values of one column spread; zeros count, missing values do not."""

    count: int
    missing: int
    zeros: int
    mean: float
    sd: float
    #: squared coefficient of variation: 1 for an exponential law, far above for heavy tails
    scv: float
    quantiles: Mapping[str, float]

    def at(self, name: str) -> float:
        """Return a quantile by name, such as ``p50``."""
        return self.quantiles[name]

    @property
    def row(self) -> dict[str, float]:
        """The columns in which every distribution is shown."""
        shown = {name: self.at(name) for name in ("p10", "p50", "p90", "p99", "max")}
        return {"known": self.count, "missing": self.missing, "mean": self.mean, **shown}


@dataclass(frozen=True)
class Curve:
    """A distribution function as points: this share of the values is at most that value."""

    shares: tuple[float, ...]
    values: tuple[float, ...]
    count: int


@dataclass(frozen=True)
class Histogram:
    """Counts between edges; zeros stand apart because the bins are equal on a log scale."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    zeros: int


def distribution_of(values: Floats) -> Distribution:
    """Return moments and quantiles of the values that are known.

    Examples
    --------
    >>> distribution_of(np.array([0.0, 2.0, 4.0, np.nan])).mean
    2.0
    """
    known = values[~np.isnan(values)]
    missing = int(values.size - known.size)
    if not known.size:
        nothing = float("nan")
        return Distribution(
            0, missing, 0, nothing, nothing, nothing, dict.fromkeys(QUANTILES, nothing)
        )
    at = np.quantile(known, list(QUANTILES.values()))
    mean, sd = float(known.mean()), float(known.std())
    return Distribution(
        count=int(known.size),
        missing=missing,
        zeros=int((known == 0).sum()),
        mean=mean,
        sd=sd,
        scv=(sd / mean) ** 2 if mean > 0 else float("nan"),
        quantiles=dict(zip(QUANTILES, at.tolist(), strict=True)),
    )


def curve_of(values: Floats) -> Curve:
    """Return the distribution function of the known values at about a hundred shares."""
    known = values[~np.isnan(values)]
    if not known.size:
        return Curve((), (), 0)
    at = np.quantile(known, _CURVE)
    return Curve(tuple(_CURVE.tolist()), tuple(at.tolist()), int(known.size))


def log_histogram(values: Floats, *, bins_per_decade: int = 8) -> Histogram:
    """Count the positive values in bins of equal width on a log scale."""
    known = values[~np.isnan(values)]
    positive = known[known > 0]
    zeros = int((known == 0).sum())
    if not positive.size:
        return Histogram((), (), zeros)
    low, high = np.log10(positive.min()), np.log10(positive.max())
    first = np.floor(low * bins_per_decade)
    last = max(np.ceil(high * bins_per_decade), first + 1)
    # a trace of nonsense values could ask for any number of bins
    places = np.linspace(first, last, int(min(last - first, 400)) + 1)
    edges = 10.0 ** (places / bins_per_decade)
    edges[0], edges[-1] = min(edges[0], positive.min()), max(edges[-1], positive.max())
    counts, _ = np.histogram(positive, edges)
    return Histogram(tuple(edges.tolist()), tuple(int(n) for n in counts), zeros)


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
