"""How often the same job comes back, and how well its past predicts its run time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.papers.findings.finding import (
    FigureDefinition,
    PublishedFinding,
    column,
    missing,
    weighted_share,
)
from prophase.trace.describe.column_arrays import Floats, Ints, has_values
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.trace_tables import Trace

#: keys of a recurring job, the most specific first
KEYS = (("group", "task"), ("group",), ("user", "name"), ("user", "task"), ("name",))
_OFTEN = 5
_CLOSE = 0.25


def recurring(trace: Trace) -> PublishedFinding:
    """Say which share of jobs recurs, and for how many the past is a good prediction."""
    key = _key(trace)
    words = " + ".join(key) if key else "group"
    needed = key or ("group|name",)
    asked = (
        FigureDefinition(
            f"jobs whose {words} occurs at least {_OFTEN} times in the trace",
            "%",
            needed,
            lambda t: _often(t, key),
            (65.0,),
        ),
        FigureDefinition(
            f"instances whose run time is within 25 % of the mean of those of the same {words} "
            "that had ended before",
            "%",
            (*needed, "duration_s", "submit_s|start_s"),
            lambda t: _predicted(t, key),
            (78.0,),
            nothing=f"no {words} had ended before it came again",
        ),
    )
    return PublishedFinding(
        "recurring",
        "Recurring jobs",
        tuple(one.of(trace) for one in asked),
        "Instances without a past are left out of the second number. The prediction is a plain "
        "mean; better ones need a model.",
    )


def past_means(code: Ints, time: Floats, end: Floats, duration: Floats) -> Floats:
    """Return per row the mean duration of rows of the same code that ended by its time.

    NaN where none had.

    Examples
    --------
    >>> code = np.array([0, 0, 0])
    >>> time, end = np.array([0.0, 5.0, 20.0]), np.array([10.0, 9.0, 21.0])
    >>> past_means(code, time, end, end - time)
    array([nan, nan,  7.])
    """
    rows = len(code)
    # ends come before beginnings of the same moment: what has ended is known
    kind = np.repeat([0, 1], rows)
    order = np.lexsort((kind, np.concatenate([end, time]), np.concatenate([code, code])))
    is_end = order < rows
    row = order % rows
    total = np.cumsum(np.where(is_end, duration[row], 0.0))
    count = np.cumsum(is_end)
    asks = row[~is_end]
    # a key starts from what all keys before it have left behind
    whole = np.bincount(code, weights=duration)
    before_total = np.concatenate([[0.0], np.cumsum(whole)[:-1]])
    before_count = np.concatenate([[0], np.cumsum(np.bincount(code))[:-1]])
    known = count[~is_end] - before_count[code[asks]]
    summed = total[~is_end] - before_total[code[asks]]
    means = np.full(rows, np.nan)
    means[asks] = np.where(known > 0, summed / np.maximum(known, 1), np.nan)
    return means


def _key(trace: Trace) -> tuple[str, ...]:
    return next((key for key in KEYS if not missing(trace, *key)), ())


def _codes(jobs: pd.DataFrame, key: tuple[str, ...]) -> Ints:
    """Number the keys; -1 where a part of it is missing."""
    known = jobs[list(key)].notna().all(axis=1).to_numpy(bool)
    codes = np.full(len(jobs), -1, np.int64)
    codes[known] = jobs.loc[known, list(key)].groupby(list(key), sort=False).ngroup().to_numpy()
    return codes


def _often(trace: Trace, key: tuple[str, ...]) -> float | None:
    codes = _codes(trace.jobs, key)
    codes = codes[codes >= 0]
    return 100 * float((np.bincount(codes)[codes] >= _OFTEN).mean()) if codes.size else None


def _predicted(trace: Trace, key: tuple[str, ...]) -> float | None:
    jobs = trace.jobs
    duration, start = column(trace, "duration_s"), column(trace, "start_s")
    time = column(trace, "submit_s") if has_values(jobs, "submit_s") else start
    begin = np.where(np.isnan(start), time, start)
    codes = _codes(jobs, key)
    usable = (codes >= 0) & ~np.isnan(time) & (duration > 0)
    if not usable.any():
        return None
    time, begin, duration = time[usable], begin[usable], duration[usable]
    codes = np.unique(codes[usable], return_inverse=True)[1]
    means = past_means(codes, time, begin + duration, duration)
    known = ~np.isnan(means)
    close = np.abs(np.nan_to_num(means) - duration) <= _CLOSE * duration
    return weighted_share(close, known, instances_of(jobs)[usable])
