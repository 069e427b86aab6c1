"""Job classes: short or long, few or many GPUs, kind of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from prophase.errors import ParameterError
from prophase.trace.describe.column_arrays import (
    Floats,
    Ints,
    NotComputable,
    codes_of,
    has_values,
    numbers,
)
from prophase.trace.describe.distribution import Curve, Distribution, curve_of, distribution_of
from prophase.trace.describe.frameworks import frameworks_of
from prophase.trace.describe.job_counts import instances_of, total_of
from prophase.trace.describe.trace_clock import hour_of_week, knows_weekdays

#: kinds of work beyond the most frequent ones are taken together
MOST_WORKLOADS = 8
#: what classes go by -> the column it is read from
_BY = {"length": "duration_s", "gpus": "request_gpus", "workload": "workload"}
LENGTHS = ("short", "long", "unknown length")
GPU_LEVELS = ("no GPU", "low GPU", "high GPU", "unknown GPU")


@dataclass(frozen=True)
class JobClassSummary:
    """The jobs of one class: how many, how long, how long they waited, when they came."""

    length: str
    gpus: str
    workload: str
    jobs: int
    share: float
    gpu_hours: float
    duration: Distribution
    wait: Distribution
    #: share of the class's jobs submitted in each hour of the day; empty without submit times
    by_hour: tuple[float, ...]
    #: the same on each day of the week; empty where the clock knows no weekdays
    by_weekday: tuple[float, ...]

    @property
    def name(self) -> str:
        return ", ".join(part for part in (self.length, self.gpus, self.workload) if part)


@dataclass(frozen=True)
class Classes:
    """All classes, largest first, and the curves that compare them."""

    short_below_s: float
    low_gpus: float
    #: which of length, gpus and workload the trace has
    by: tuple[str, ...]
    classes: tuple[JobClassSummary, ...]
    #: by the framework that names, tasks or images of jobs tell, largest first; may be empty
    frameworks: tuple[JobClassSummary, ...]
    duration_by_gpus: dict[str, Curve]
    duration_by_workload: dict[str, Curve]
    wait_by_class: dict[str, Curve]


def describe_classes(
    jobs: pd.DataFrame, *, short_below_s: float = 3600.0, low_gpus: float = 1.0, clock: str = ""
) -> Classes | NotComputable:
    """Sort jobs into classes and describe each.

    Parameters
    ----------
    short_below_s : float, default=3600
        Jobs that ran for less are short.
    low_gpus : float, default=1
        Jobs that ask for at most this many GPUs in total are low.
    """
    if not short_below_s > 0 or not low_gpus >= 0:
        raise ParameterError(
            f"class limits are short_below_s={short_below_s}, low_gpus={low_gpus}. "
            "Pass a positive time and a number of GPUs that is not negative."
        )
    by = tuple(name for name, column in _BY.items() if has_values(jobs, column))
    if not by:
        return NotComputable("no durations, no GPU requests, no workloads")
    duration, wait = numbers(jobs, "duration_s"), numbers(jobs, "wait_s")
    gpus = numbers(jobs, "request_gpus") * instances_of(jobs)
    # in few bytes each: there may be tens of millions
    length = np.where(np.isnan(duration), 2, duration >= short_below_s).astype(np.int16)
    level = np.select([np.isnan(gpus), gpus == 0, gpus <= low_gpus], [3, 0, 1], 2).astype(np.int16)
    kind, kinds = _workloads(jobs)
    lengths = LENGTHS if "length" in by else ("",) * 3
    levels = GPU_LEVELS if "gpus" in by else ("",) * 4
    of_jobs = _Measured(duration, wait, gpus * duration, *_times(jobs, clock))
    code = (length * len(levels) + level) * len(kinds) + kind
    both = [", ".join(filter(None, pair)) or "all jobs" for pair in product(lengths, levels)]
    found = []
    for group, rows in _rows_by_code(code):
        rest, which_kind = divmod(group, len(kinds))
        which_length, which_level = divmod(rest, len(levels))
        named = (lengths[which_length], levels[which_level], kinds[which_kind])
        found.append(of_jobs.summary(rows, *named))
    framework, frameworks = frameworks_of(jobs)
    told = [
        of_jobs.summary(rows, "", "", frameworks[group])
        for group, rows in _rows_by_code(framework)
        if group >= 0
    ]
    return Classes(
        short_below_s=short_below_s,
        low_gpus=low_gpus,
        by=by,
        classes=tuple(sorted(found, key=lambda c: -c.jobs)),
        frameworks=tuple(sorted(told, key=lambda c: -c.jobs)),
        duration_by_gpus=_curves(duration, level, levels) if "gpus" in by else {},
        duration_by_workload=_curves(duration, kind, kinds) if "workload" in by else {},
        wait_by_class=_curves(wait, length * len(levels) + level, both),
    )


def _workloads(jobs: pd.DataFrame) -> tuple[Ints, list[str]]:
    """Return a number per row for its kind of work, the rarer ones taken together."""
    if not has_values(jobs, "workload"):
        return np.zeros(len(jobs), dtype=np.int16), [""]
    codes, names = codes_of(jobs["workload"])
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    order = np.argsort(-sizes, kind="stable")
    kept = min(len(names), MOST_WORKLOADS)
    new = np.full(len(names) + 1, kept, dtype=np.int16)
    new[order[:kept]] = np.arange(kept)
    new[-1] = kept + 1  # code -1: missing
    labels = [names[place] for place in order[:kept]]
    return new[codes], [*labels, "other workloads", "unknown workload"]


def _rows_by_code(code: Ints) -> list[tuple[int, Ints]]:
    # few classes fit into 16 bits, for which NumPy has a much faster stable sort
    order = np.argsort(code.astype(np.int16), kind="stable")
    present, firsts = np.unique(code[order], return_index=True)
    pieces = np.split(order, firsts[1:]) if code.size else []
    return list(zip(present.tolist(), pieces, strict=True))


@dataclass(frozen=True)
class _Measured:
    """What is known of each job, to be summed up by class."""

    duration_s: Floats
    wait_s: Floats
    gpu_time_s: Floats
    #: -1 where the submission is not known; None: of no job
    hour: Ints | None
    weekday: Ints | None

    def summary(self, rows: Ints, length: str, gpus: str, workload: str) -> JobClassSummary:
        return JobClassSummary(
            length=length,
            gpus=gpus,
            workload=workload,
            jobs=int(rows.size),
            share=rows.size / max(len(self.duration_s), 1),
            gpu_hours=total_of(self.gpu_time_s[rows]) / 3600,
            duration=distribution_of(self.duration_s[rows]),
            wait=distribution_of(self.wait_s[rows]),
            by_hour=_profile(self.hour, rows, 24),
            by_weekday=_profile(self.weekday, rows, 7),
        )


def _times(jobs: pd.DataFrame, clock: str) -> tuple[Ints | None, Ints | None]:
    """Return each job's hour of the day and day of the week."""
    if not has_values(jobs, "submit_s"):
        return None, None
    times = numbers(jobs, "submit_s")
    unknown = np.isnan(times)
    of_week = hour_of_week(np.nan_to_num(times), clock).astype(np.int16)
    hour, weekday = of_week % 24, of_week // 24
    hour[unknown], weekday[unknown] = -1, -1
    return hour, weekday if knows_weekdays(clock) else None


def _profile(values: Ints | None, rows: Ints, size: int) -> tuple[float, ...]:
    known = values[rows] if values is not None else np.empty(0, np.int64)
    known = known[known >= 0]
    if not known.size:
        return ()
    return tuple((np.bincount(known, minlength=size) / known.size).tolist())


def _curves(values: Floats, code: Ints, names: Sequence[str]) -> dict[str, Curve]:
    """Return one curve per group that has values, most values first."""
    found = {names[group]: curve_of(values[rows]) for group, rows in _rows_by_code(code)}
    return dict(sorted(((k, c) for k, c in found.items() if c.count), key=lambda kc: -kc[1].count))
