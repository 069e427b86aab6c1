"""How often a job comes back: the share whose submit-time key was seen before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.trace.describe.column_arrays import (
    Floats,
    Ints,
    NotComputable,
    codes_of,
    combined_codes,
    has_values,
    numbers,
)
from prophase.trace.describe.trace_clock import DAY_S, HOUR_S

_REQUEST = ("request_cpu_cores", "request_memory_gib", "request_gpus", "instances", "time_limit_s")
#: keys from the most to the least specific; ``request`` stands for all request columns
KEYS = (
    ("group", "task"),
    ("group",),
    ("user", "name"),
    ("user", "task", "request"),
    ("user", "workload", "request"),
    ("workload", "task"),
    ("user", "request"),
    ("name",),
    ("task",),
)
#: coarser keys than the best few add nothing
_MOST_KEYS = 5
_OFTEN = 5
_MOST_PERIODS = 1000
#: runs that are compared with the one before at a time
_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class KeyRecurrence:
    """How well one key recognises jobs."""

    key: str
    #: rows that have all columns of the key
    jobs: int
    distinct: int
    seen_before_share: float
    #: share of jobs whose key occurs at least five times in the trace
    often_share: float
    #: among jobs seen before: duration within a factor of two of the last one of that key
    like_last_share: float


@dataclass(frozen=True)
class Recurrence:
    """Recurrence by the best key the trace has, over time, and by the other keys."""

    key: str
    #: what put the jobs in order
    order: str
    keys: tuple[KeyRecurrence, ...]
    #: start of each period (s, or first place in the order) and the share seen before in it
    period: str
    starts: tuple[float, ...]
    jobs: tuple[int, ...]
    seen_before: tuple[float, ...]

    @property
    def best(self) -> KeyRecurrence:
        return self.keys[0]


def describe_recurrence(jobs: pd.DataFrame) -> Recurrence | NotComputable:
    """Return the share of jobs whose key was seen before, by day and by key.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {"user": ["a", "a", "b"], "name": ["x", "x", "x"], "submit_s": [0.0, 1.0, 2.0]}
    ... )
    >>> describe_recurrence(jobs).best.seen_before_share
    0.3333333333333333
    """
    usable = [key for key in KEYS if _usable(jobs, key)][:_MOST_KEYS]
    if not usable:
        return NotComputable("no group, name, task, or user with requests")
    ordering = next((c for c in ("submit_s", "submit_order", "start_s") if has_values(jobs, c)), "")
    when = numbers(jobs, ordering) if ordering else np.arange(len(jobs), dtype=np.float64)
    # the sort is stable: at equal times the order of the table decides
    order = np.argsort(when, kind="stable")[: int((~np.isnan(when)).sum())].astype(np.int32)
    when = when[order]
    duration = numbers(jobs, "duration_s")[order]
    names = dict.fromkeys(name for key in usable for name in key)
    columns = {name: _codes(jobs, name)[order] for name in names}
    del order
    results = [_one_key(key, columns, duration) for key in usable]
    del columns, duration
    seen, _ = results[0]
    has_key = seen >= 0
    period, starts, number, share = _over_time(when[has_key], seen[has_key], ordering)
    return Recurrence(
        key=results[0][1].key,
        order=ordering or "the order of the table",
        keys=tuple(found for _, found in results),
        period=period,
        starts=starts,
        jobs=number,
        seen_before=share,
    )


def _usable(jobs: pd.DataFrame, key: tuple[str, ...]) -> bool:
    plain = [name for name in key if name != "request"]
    asked = "request" not in key or any(has_values(jobs, name) for name in _REQUEST[:3])
    return has_values(jobs, *plain) and asked


def _codes(jobs: pd.DataFrame, name: str) -> Ints:
    if name != "request":
        return codes_of(jobs[name])[0].astype(np.int32)
    # a request is the same if all its numbers are, and a missing number is one too
    asked = (jobs[column] for column in _REQUEST if has_values(jobs, column))
    return combined_codes(asked).astype(np.int32)


def _one_key(
    key: tuple[str, ...], columns: dict[str, Ints], duration: Floats
) -> tuple[Ints, KeyRecurrence]:
    """Return per job 1 if seen before, 0 if not, -1 without a key; and the summary."""
    parts = [columns[name] for name in key]
    known = np.logical_and.reduce([part >= 0 for part in parts])
    # keys are numbered in order of appearance, so a new one is the greatest so far
    code = _numbered(parts, known)
    greatest = np.maximum.accumulate(np.r_[np.int32(-1), code[:-1]]) if code.size else code
    repeats = code <= greatest
    seen = np.full(known.size, -1, dtype=np.int8)
    seen[known] = repeats
    often = (np.bincount(code, minlength=1) >= _OFTEN)[code]
    return seen, KeyRecurrence(
        key=" + ".join(key),
        jobs=int(known.sum()),
        distinct=int(code.max(initial=-1)) + 1,
        seen_before_share=float(repeats.mean()) if code.size else float("nan"),
        often_share=float(often.mean()) if code.size else float("nan"),
        like_last_share=_like_last(code, duration if known.all() else duration[known]),
    )


def _numbered(parts: Sequence[Ints], known: NDArray[np.bool_]) -> Ints:
    """Return one number per combination, in order of appearance; in place, as there may be many."""
    code = np.zeros(int(known.sum()), np.int64)
    for part in parts:
        code *= int(part.max(initial=0)) + 1
        code += part[known]
        code = pd.factorize(code)[0]
    return code.astype(np.int32)


def _like_last(code: Ints, duration: Floats) -> float:
    order = np.argsort(code, kind="stable").astype(np.int32)
    pairs = alike = 0
    for first in range(0, max(len(order) - 1, 0), _AT_A_TIME):
        some = order[first : first + _AT_A_TIME + 1]
        key, took = code[some], duration[some]
        same = (key[1:] == key[:-1]) & (took[1:] > 0) & (took[:-1] > 0)
        ratio = took[1:][same] / took[:-1][same]
        pairs += len(ratio)
        alike += int(((ratio <= 2) & (ratio >= 0.5)).sum())
    return alike / pairs if pairs else float("nan")


def _over_time(
    when: Floats, seen: Ints, ordering: str
) -> tuple[str, tuple[float, ...], tuple[int, ...], tuple[float, ...]]:
    if not when.size:
        return "day", (), (), ()
    span = float(when[-1] - when[0])
    if ordering in ("submit_s", "start_s") and span >= 3 * HOUR_S:
        width = DAY_S if span >= 3 * DAY_S else HOUR_S
        period = "day" if width == DAY_S else "hour"
        if span / width > _MOST_PERIODS:
            width, period = 7 * DAY_S, "week"
        place = np.floor(when / width)
        # a trace can have years without a job: name only periods that have some
        begins = np.r_[True, place[1:] != place[:-1]]
        starts = place[begins] * width
        inverse: NDArray[Any] = np.cumsum(begins, dtype=np.int32) - 1
    else:
        period = "tenth of the jobs"
        inverse = np.arange(when.size) * 10 // when.size
        starts = when[np.unique(inverse, return_index=True)[1]]
        inverse = np.unique(inverse, return_inverse=True)[1]
    number = np.bincount(inverse)
    share = np.bincount(inverse, weights=seen) / number
    return (
        period,
        tuple(starts.tolist()),
        tuple(int(n) for n in number),
        tuple(share.tolist()),
    )
