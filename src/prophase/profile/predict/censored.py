"""Jobs that are known to need at least so long: killed at their limit, or still running.

Left out, they make every memory too short; taken as they are, a job that was killed counts as if
it had been done. Here each counts as what like jobs took that ran longer (its share is moved
to the right, as Efron has it for Kaplan and Meier's estimate), and as its own bound where none
did. A prediction is still capped by the job's own limit.

Ranges move with what has ended, and short jobs end first: where jobs run as long as the time over
which ranges move, these would be too short above. So levels of jobs that still run count there as
lower bounds, and one that outlives its range is a miss from that moment on.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.array_types import Bools, Floats, Ints
from prophase.profile.predict.back_off_keys import Level
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.submit_columns import numbers

#: longer jobs of the same key that are needed to say how much longer
_FEWEST = 2
#: levels of its distribution that a running job may be known to have passed
PASSED = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0])
#: its multiples lie evenly between whole numbers, wherever they begin and end
_GOLDEN = (5**0.5 - 1) / 2


def was_cut_short(jobs: pd.DataFrame) -> Bools:
    """Say which jobs were ended by their time limit.

    Examples
    --------
    >>> was_cut_short(pd.DataFrame({"status": ["timeout", "completed"]})).tolist()
    [True, False]
    """
    if "status" not in jobs:
        return np.zeros(len(jobs), dtype=np.bool_)
    return np.asarray(jobs["status"].eq("timeout").fillna(False), dtype=np.bool_)


def still_running(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs that had begun and not ended, with how long they had run at the table's end.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {"status": ["running", "completed"], "start_s": [10.0, 0.0], "end_s": [None, 100.0]}
    ... )
    >>> still_running(jobs)["duration_s"].tolist()
    [90.0]
    """
    if "status" not in jobs or "start_s" not in jobs:
        return jobs[:0]
    start = numbers(jobs, "start_s")
    running = jobs["status"].eq("running").fillna(False).to_numpy(dtype=bool) & np.isfinite(start)
    if not running.any():
        return jobs[:0]
    clocks = np.concatenate([numbers(jobs, name) for name in ("submit_s", "start_s", "end_s")])
    now = float(clocks[np.isfinite(clocks)].max())
    found = jobs[running & (start < now)]
    return found.assign(duration_s=now - numbers(found, "start_s"), end_s=now)


def lengthened(
    levels: tuple[Level, ...], recall: list[Recall], bound: Floats, turn: Ints
) -> Floats:
    """Return what jobs took that are alike and ran longer than the bound; else the bound.

    Of the longer ones each job takes another in its ``turn``, so that together they lie as those
    do. With the middle one for all, medians of jobs with tight limits came out up to 60 % too long.
    """
    value = np.full(len(bound), np.nan)
    part_of_one = (turn + 1) * _GOLDEN % 1.0
    for level, part in zip(levels, recall, strict=True):
        if level.closeness == "new":
            continue
        longer = part.sample > bound[:, None] + 1e-9
        count = longer.sum(axis=1)
        # samples lie in order of size, so the longer ones are the last of those that are known
        last = np.minimum(part.count, part.sample.shape[1]) - 1
        place = np.maximum(last - (part_of_one * count).astype(np.int64), 0)
        own = part.sample[np.arange(len(bound)), place]
        value = np.where(np.isnan(value) & (count >= _FEWEST), own, value)
    return np.where(np.isnan(value), bound, value)


class NotYetEnded:
    """Jobs in the order of their ends, as they were known before: when they came and how far.

    Parameters
    ----------
    as_of : array
        When each job's range was asked for.
    passed : array
        When each job had run for longer than each level of ``PASSED``; a column per level.

    Examples
    --------
    >>> passed = 10.0 + np.arange(len(PASSED)) * np.array([[1.0], [5.0]])
    >>> jobs = NotYetEnded(np.array([10.0, 10.0]), passed)
    >>> jobs.beyond(now=21.0, ended=1)[:4].tolist()
    [0, 0, 1, 0]
    >>> jobs.newly_outlived(np.array([0.3])), jobs.newly_outlived(np.array([0.3]))
    (1, 0)
    """

    def __init__(self, as_of: Floats, passed: Floats) -> None:
        self._as_of, self._passed = as_of, passed
        self._by_arrival = np.argsort(as_of, kind="stable")
        self._arrivals, self._came = as_of[self._by_arrival], 0
        self._rows: Ints = np.empty(0, dtype=np.int64)
        #: how many levels each job is known to have passed, and when it passes the next
        self._count = np.zeros(len(as_of), dtype=np.int64)
        self._next = passed[:, 0].copy()
        #: which jobs were counted as misses before they ended
        self.outlived = np.zeros(len(as_of), dtype=np.bool_)

    @property
    def asked(self) -> Floats:
        """When the ranges of those that run were asked for."""
        return self._as_of[self._rows]

    def beyond(self, now: float, ended: int) -> Ints:
        """Count jobs by the level of ``PASSED`` they last passed, the first ``ended`` left out."""
        come = int(np.searchsorted(self._arrivals, now, side="right"))
        rows = np.concatenate([self._rows, self._by_arrival[self._came : come]])
        self._came, self._rows = come, rows[rows >= ended]
        moved = self._rows[self._next[self._rows] <= now]
        while len(moved):
            self._count[moved] += 1
            last = self._count[moved] == len(PASSED)
            following = self._passed[moved, np.where(last, 0, self._count[moved])]
            self._next[moved] = np.where(last, np.inf, following)
            moved = moved[self._next[moved] <= now]
        # a job that has come and not begun tells nothing
        counts: Ints = np.bincount(self._count[self._rows], minlength=len(PASSED) + 1)[1:]
        return counts

    def newly_outlived(self, given: Floats) -> int:
        """Count running jobs that passed the level they were given, each of them once."""
        level = np.append(-np.inf, PASSED)[self._count[self._rows]]
        new = (level > given) & ~self.outlived[self._rows]
        self.outlived[self._rows[new]] = True
        return int(new.sum())
