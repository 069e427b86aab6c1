"""When jobs arrive: over the trace, by hour and weekday, and how bursty that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.trace.column_table import in_file
from prophase.trace.describe.column_arrays import Floats, NotComputable, has_values, numbers
from prophase.trace.describe.distribution import Distribution, distribution_of
from prophase.trace.describe.trace_clock import DAY_S, HOUR_S, WEEK_S, hour_of_week, week_exposure_h

#: widths tried for the curve over time; the first that needs few enough bins is taken
_WIDTHS_S = (60.0, 600.0, HOUR_S, 6 * HOUR_S, DAY_S, WEEK_S)
_MOST_BINS = 800
_WINDOWS_S = (60.0, 600.0, HOUR_S, 6 * HOUR_S, DAY_S)
_LEAST_WINDOWS = 10


@dataclass(frozen=True)
class Window:
    """Counts in windows of one width: mean, and variance over mean (1 for Poisson)."""

    width_s: float
    windows: int
    mean: float
    dispersion: float
    peak: int


@dataclass(frozen=True)
class OverTime:
    """Arrivals per bin from the first to the last."""

    first_s: float
    width_s: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Arrivals:
    """The arrivals of a trace; ``basis`` names the column they are read from."""

    basis: str
    count: int
    missing: int
    #: rows that one job submitted together with another: roles of a job, tasks of an array
    together: int
    per_hour: float
    over_time: OverTime
    #: mean arrivals per hour at each hour of the day (24) and on each day of the week (7);
    #: missing where the trace never was at that time
    by_hour: tuple[float, ...]
    by_weekday: tuple[float, ...]
    clock: str
    dispersion: tuple[Window, ...]
    gaps: Distribution
    #: correlation of a gap with the one before it; 0 if gaps are independent
    gap_correlation: float
    #: share of arrivals at the same instant as the one before
    simultaneous_share: float


def describe_arrivals(jobs: pd.DataFrame, clock: str) -> Arrivals | NotComputable:
    """Return the arrival pattern, from submit times or, failing these, from starts."""
    basis = next((c for c in ("submit_s", "start_s") if has_values(jobs, c)), None)
    if basis is None:
        return NotComputable("no submit times")
    times, missing, together = arrival_times(jobs, basis)
    if times.size < 2 or times[0] == times[-1]:
        return NotComputable(
            "only one job has a submit time" if times.size < 2 else "all jobs arrive at once"
        )
    gaps = np.diff(times)
    first, last = float(times[0]), float(times[-1])
    by_hour, by_weekday = _patterns(times, clock)
    return Arrivals(
        basis=basis,
        count=int(times.size),
        missing=missing,
        together=together,
        per_hour=(times.size - 1) / (last - first) * HOUR_S,
        over_time=_over_time(times),
        by_hour=by_hour,
        by_weekday=by_weekday,
        clock=clock,
        dispersion=tuple(_windows(times)),
        gaps=distribution_of(gaps),
        gap_correlation=_lag_correlation(gaps),
        simultaneous_share=float((gaps == 0).mean()),
    )


def arrival_times(jobs: pd.DataFrame, basis: str = "submit_s") -> tuple[Floats, int, int]:
    """Return when jobs arrived, in order; how many rows tell no time, and how many came together.

    Rows of one ``parent_id`` at one instant are one arrival: a job with several roles, an array.

    Examples
    --------
    >>> jobs = pd.DataFrame({"submit_s": [5.0, 5.0, 5.0, 9.0], "parent_id": ["a", "a", None, "a"]})
    >>> arrival_times(jobs)
    (array([5., 5., 9.]), 0, 1)
    """
    parents = has_values(jobs, "parent_id")
    if (large := in_file(jobs)) is not None and parents:
        in_order = large.sorted_once(basis, "parent_id")
        missing = int(np.isnan(numbers(jobs, basis)).sum())
        return in_order, missing, len(jobs) - missing - len(in_order)
    values = numbers(jobs, basis)
    known = ~np.isnan(values)
    times, first = values[known], np.ones(int(known.sum()), np.bool_)
    if parents:
        of_whom = pd.factorize(jobs["parent_id"])[0][known]
        rows = pd.DataFrame({"parent": of_whom, "time": times})
        first = ~(rows.duplicated().to_numpy() & (of_whom >= 0))
    return np.sort(times[first]), int((~known).sum()), int((~first).sum())


def _over_time(times: Floats) -> OverTime:
    first, last = float(times[0]), float(times[-1])
    span = last - first
    width = next((w for w in _WIDTHS_S if span / w <= _MOST_BINS), span / _MOST_BINS)
    # bins start at whole multiples of their width: hours at :00, days at midnight
    start = np.floor(first / width) * width
    place = ((times - start) // width).astype(np.int64)
    counts = np.bincount(np.minimum(place, 2 * _MOST_BINS))
    return OverTime(float(start), float(width), tuple(int(n) for n in counts))


def _patterns(times: Floats, clock: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean arrivals per hour by hour of the day, and by day of the week."""
    counts = np.bincount(hour_of_week(times, clock), minlength=168).reshape(7, 24)
    watched = week_exposure_h(float(times[0]), float(times[-1]), clock).reshape(7, 24)

    def rates(axis: int) -> tuple[float, ...]:
        number, hours = counts.sum(axis=axis), watched.sum(axis=axis)
        # a few minutes of an hour say nothing about that hour
        enough = hours >= 0.5
        rate = np.divide(number, hours, out=np.full(hours.shape, np.nan), where=enough)
        return tuple(rate.tolist())

    return rates(0), rates(1)


def _windows(times: Floats) -> list[Window]:
    found = []
    for width in _WINDOWS_S:
        start = np.floor(times[0] / width) * width
        windows = int((times[-1] - start) // width)
        if windows < _LEAST_WINDOWS:
            continue
        inside = times[times < start + windows * width]
        # empty windows are not listed: most of them are, on a long and quiet trace
        _, counts = np.unique((inside - start) // width, return_counts=True)
        mean = inside.size / windows
        variance = (float((counts.astype(float) ** 2).sum()) - windows * mean**2) / (windows - 1)
        found.append(
            Window(width, windows, mean, variance / mean if mean else np.nan, int(counts.max()))
        )
    return found


def _lag_correlation(gaps: Floats) -> float:
    """Return the rank correlation of neighbours, which one huge gap cannot decide."""
    if gaps.size < 3:
        return float("nan")
    ranks = pd.Series(gaps).rank().to_numpy()
    before, after = ranks[:-1], ranks[1:]
    if before.std() == 0 or after.std() == 0:
        return float("nan")
    return float(np.corrcoef(before, after)[0, 1])
