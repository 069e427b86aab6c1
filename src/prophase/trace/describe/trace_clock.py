"""What the trace's clock means: dates, hours of the day, days of the week."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.stats import Blocks, calendar_blocks
from prophase.trace.describe.column_arrays import (
    Floats,
    Ints,
    NotComputable,
    has_values,
    numbers,
)

HOUR_S, DAY_S, WEEK_S = 3600.0, 86400.0, 7 * 86400.0
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: 1 January 1970 was a Thursday: this many days after a Monday
_EPOCH_WEEKDAY = 3
#: times before this are counted from a zero of the trace's own, whatever the clock says
FIRST_DATE_S = 631_152_000.0  # 1990

_CLOCK_WORDS = {
    "unix": "seconds since 1970 (UTC)",
    "local": "local wall time",
    "relative": "seconds since a zero of the trace's own",
}


@dataclass(frozen=True)
class TimeSpan:
    """From the first to the last known time of the jobs."""

    first_s: float
    last_s: float
    days: float
    first: str
    last: str
    clock: str
    clock_words: str


def span_of(jobs: pd.DataFrame, clock: str) -> TimeSpan | NotComputable:
    """Return when the trace begins and ends, by any of its clock columns."""
    clocks = [name for name in ("submit_s", "start_s", "end_s") if has_values(jobs, name)]
    if not clocks:
        return NotComputable("no submit, start or end times")
    # one column after the other: a large table is not in memory
    ends = [(np.fmin.reduce(v), np.fmax.reduce(v)) for v in (numbers(jobs, c) for c in clocks)]
    first, last = (float(one) for one in (np.fmin.reduce(ends)[0], np.fmax.reduce(ends)[1]))
    if np.isnan(first):
        return NotComputable("no submit, start or end times")
    return TimeSpan(
        first_s=first,
        last_s=last,
        days=(last - first) / DAY_S,
        first=moment_words(first, clock),
        last=moment_words(last, clock),
        clock=clock,
        clock_words=_CLOCK_WORDS.get(clock, f"wall time {clock.upper()}"),
    )


def days_of(jobs: pd.DataFrame) -> Blocks:
    """Return the day of each job, which intervals are made from; one for all without a clock."""
    clock = next((name for name in ("submit_s", "start_s") if has_values(jobs, name)), None)
    return calendar_blocks(
        np.zeros(len(jobs)) if clock is None else np.nan_to_num(numbers(jobs, clock))
    )


def latest_moment_s(jobs: pd.DataFrame) -> float:
    """Return the last submission, start or end, or until when a job is known to have run.

    Examples
    --------
    >>> jobs = pd.DataFrame({"start_s": [50.0, 90.0], "end_s": [80.0, None]})
    >>> latest_moment_s(jobs), latest_moment_s(jobs.assign(after_elapsed_s=[None, 600.0]))
    (90.0, 690.0)
    """
    held = [jobs[name].max() for name in ("submit_s", "start_s", "end_s") if name in jobs]
    if {"start_s", "after_elapsed_s"} <= set(jobs):
        # on a calm day the youngest job began long ago
        held.append((jobs["start_s"] + jobs["after_elapsed_s"].astype(np.float64)).max())
    last = float(pd.Series(held, dtype=np.float64).max())
    if math.isnan(last):
        raise InputError("the job table has no times at all. Name the instant (--now).")
    return last


def moment_words(time_s: float, clock: str) -> str:
    """Write a time as a date if the clock knows dates, else as day and hour of the trace.

    Examples
    --------
    >>> moment_words(1504521041.0, "local"), moment_words(90_000.0, "relative")
    ('2017-09-04 10:30', 'day 2, 01:00')
    """
    moment = date_of(time_s, clock)
    if moment is not None:
        return moment.strftime("%Y-%m-%d %H:%M")
    time_s += utc_offset_s(clock)
    day = math.floor(time_s / DAY_S)
    minute = int((time_s - day * DAY_S) // 60) % 1440
    return f"day {day + 1:,}, {minute // 60:02d}:{minute % 60:02d}"


def date_of(time_s: float, clock: str) -> datetime | None:
    """Return the calendar date of a time, or None if the clock has none."""
    if not knows_weekdays(clock) or not FIRST_DATE_S <= time_s < 4e9:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time_s + utc_offset_s(clock))


def utc_offset_s(clock: str) -> float:
    """Return what turns a time into wall time: 28,800 for ``utc+8``, nothing for the others.

    Examples
    --------
    >>> utc_offset_s("utc+8"), utc_offset_s("local")
    (28800.0, 0.0)
    """
    return float(clock.removeprefix("utc")) * HOUR_S if clock.startswith("utc") else 0.0


def knows_weekdays(clock: str) -> bool:
    """Return whether hours of the day and days of the week mean what they say."""
    return clock in ("unix", "local") or clock.startswith("utc")


def hour_of_week(times: Floats, clock: str) -> Ints:
    """Return 0..167; hour 0 is Monday 00:00 if the clock knows weekdays, else the zero."""
    shifted = times + _monday_shift_s(clock)
    return np.minimum(np.mod(shifted, WEEK_S) // HOUR_S, 167).astype(np.int64)


def _monday_shift_s(clock: str) -> float:
    return _EPOCH_WEEKDAY * DAY_S + utc_offset_s(clock) if knows_weekdays(clock) else 0.0


def week_exposure_h(first_s: float, last_s: float, clock: str) -> Floats:
    """Return how many hours of each hour of the week lie between two times (168 values)."""
    shift = _monday_shift_s(clock)

    def until(time_s: float) -> Floats:
        weeks, rest = divmod(time_s + shift, WEEK_S)
        begun: Floats = np.clip((rest - np.arange(168) * HOUR_S) / HOUR_S, 0.0, 1.0)
        return weeks + begun

    return np.maximum(until(last_s) - until(first_s), 0.0)
