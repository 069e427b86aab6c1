"""The dynamic part of a profile: what its jobs use, how it spreads, moves and strays."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from prophase.array_types import Floats
from prophase.json_types import JsonObject

QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_BINS = 20
#: fewest jobs on which a trend or a daily pattern is judged
_ENOUGH = 30
#: chance below which a trend or a daily pattern counts
_SURE = 0.01
#: fewest jobs of an hour of the day that is compared with others
_JOBS_OF_AN_HOUR = 5
#: a daily pattern that explains less is not worth reporting
_WORTH_TELLING = 0.02
_DAY_S = 86_400.0
#: a job is an anomaly this many interquartile ranges outside the quartiles
_FENCE = 3.0
_MOST_ANOMALIES = 10


@dataclass(frozen=True)
class Trend:
    """Does a metric move with time? Rank correlation, and the move per day of the medians."""

    correlation: float
    p_value: float
    per_day: float
    direction: str


@dataclass(frozen=True)
class Season:
    """Does a metric follow the hour of the day? By ranks, so that single giants say nothing.

    Hours are of the trace's clock; in a trace that starts at 0 they count from its start.
    """

    #: share of the variance of the ranks between hours, corrected for chance
    explained: float
    p_value: float
    #: hours with the largest and the smallest median
    high_hour: int
    low_hour: int
    daily: bool


@dataclass(frozen=True)
class MetricSummary:
    """How one metric is distributed over the jobs of a profile."""

    n: int
    missing: int
    mean: float
    std: float
    least: float
    largest: float
    quantiles: dict[str, float]
    #: edges of the bins and jobs in each
    histogram: dict[str, list[float]]
    #: None if there are too few jobs, or no clock
    trend: Trend | None
    #: None if there are too few jobs, no clock, or less than two days of it
    season: Season | None
    anomalies: int
    #: the jobs farthest outside, at most ten
    anomalous_jobs: list[str]

    def to_dict(self) -> JsonObject:
        return asdict(self)


def summarise(values: Floats, clock_s: Floats | None, job_ids: list[str]) -> MetricSummary | None:
    """Return the summary of one metric, or None if no job has a value.

    Parameters
    ----------
    values : array
        The metric per job; NaN where unknown.
    clock_s : array, optional
        When each job was submitted or started; without it there is neither trend nor season.
    job_ids : list of str
        Names of the same jobs.

    Examples
    --------
    >>> found = summarise(np.array([1.0, 2.0, 3.0, np.nan]), None, ["a", "b", "c", "d"])
    >>> found.n, found.missing, found.mean, found.quantiles["q50"]
    (3, 1, 2.0, 2.0)
    """
    known = np.isfinite(values)
    if not known.any():
        return None
    held = values[known]
    counts, edges = np.histogram(held, bins=_BINS)
    q25, q75 = np.quantile(held, [0.25, 0.75])
    # of a metric that hardly varies, half of which is one value, a hair would be an anomaly
    room = _FENCE * max(q75 - q25, 1e-9 * max(abs(q25), abs(q75), 1.0))
    beyond = np.maximum(q25 - room - held, held - q75 - room)
    worst = np.argsort(-beyond, kind="stable")[:_MOST_ANOMALIES]
    names = [job for job, one in zip(job_ids, known, strict=True) if one]
    when = clock_s[known] if clock_s is not None else None
    return MetricSummary(
        n=int(known.sum()),
        missing=int((~known).sum()),
        mean=float(held.mean()),
        std=float(held.std(ddof=1)) if len(held) > 1 else 0.0,
        least=float(held.min()),
        largest=float(held.max()),
        quantiles=dict(
            zip(
                [f"q{round(100 * q):02d}" for q in QUANTILES],
                map(float, np.quantile(held, QUANTILES)),
                strict=True,
            )
        ),
        histogram={"edges": edges.tolist(), "jobs": counts.astype(float).tolist()},
        trend=_trend(held, when),
        season=_season(held, when),
        anomalies=int((beyond > 0).sum()),
        anomalous_jobs=[names[row] for row in worst if beyond[row] > 0],
    )


def _trend(values: Floats, clock_s: Floats | None) -> Trend | None:
    if clock_s is None or not np.isfinite(clock_s).all() or len(values) < _ENOUGH:
        return None
    if np.ptp(values) == 0 or np.ptp(clock_s) < _DAY_S:
        return None
    # not before: it takes a second to load, and most commands ask for no trend
    from scipy import stats

    found = stats.spearmanr(clock_s, values)
    correlation, p_value = float(found.statistic), float(found.pvalue)
    days = np.floor(clock_s / _DAY_S)
    each = np.unique(days)
    medians = np.array([np.median(values[days == day]) for day in each])
    slope = float(stats.theilslopes(medians, each).slope) if len(each) > 1 else 0.0
    if not math.isfinite(correlation) or p_value > _SURE or abs(correlation) < 0.1:
        direction = "steady"
    else:
        direction = "rising" if correlation > 0 else "falling"
    return Trend(correlation, p_value, slope, direction)


def _season(values: Floats, clock_s: Floats | None) -> Season | None:
    """Compare hours of the day by Kruskal and Wallis' test; None if nothing can be said."""
    if clock_s is None or not np.isfinite(clock_s).all() or len(values) < _ENOUGH:
        return None
    # on a single day the hour cannot be distinguished from a trend
    if np.ptp(values) == 0 or np.ptp(clock_s) < 2 * _DAY_S:
        return None
    hour = np.floor(clock_s % _DAY_S / 3600).astype(np.int64)
    held = {int(one): values[hour == one] for one in np.unique(hour)}
    held = {one: part for one, part in held.items() if len(part) >= _JOBS_OF_AN_HOUR}
    count = sum(map(len, held.values()))
    if len(held) < 2 or np.ptp(np.concatenate(list(held.values()))) == 0:
        return None
    from scipy import stats

    found = stats.kruskal(*held.values())
    # epsilon squared, corrected: 0 by chance (Tomczak and Tomczak 2014)
    explained = max(0.0, float((found.statistic - len(held) + 1) / (count - len(held))))
    medians = {one: float(np.median(part)) for one, part in held.items()}
    p_value = float(found.pvalue)
    return Season(
        explained,
        p_value,
        high_hour=max(medians, key=lambda one: medians[one]),
        low_hour=min(medians, key=lambda one: medians[one]),
        daily=p_value < _SURE and explained >= _WORTH_TELLING,
    )
