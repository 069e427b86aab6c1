"""What jobs that still run say about ranges, before their outcomes are known.

Short jobs end first. Ranges that learn from ended jobs alone are too short above wherever jobs
run as long as the time over which ranges move: the long ones have not ended yet. But a job that
runs is known to need at least what it has run for, and one that outlives its range is a miss from
that moment on.
"""

from __future__ import annotations

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.profile.predict.conformal_range import TAIL

#: levels of its distribution that a running job may be known to have passed
PASSED = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0])


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
    >>> jobs.levels(now=21.0, ended=1).tolist()
    [0.4]
    >>> jobs.newly_outlived(np.array([0.3])), jobs.newly_outlived(np.array([0.3]))
    (1, 0)
    """

    def __init__(self, as_of: Floats, passed: Floats) -> None:
        self._as_of, self._passed = as_of, passed
        self._by_arrival = np.argsort(as_of, kind="stable")
        self._arrivals, self._came = as_of[self._by_arrival], 0
        self._rows: Ints = np.empty(0, dtype=np.int64)
        self._levels = np.empty(0)
        #: which jobs were counted as misses before they ended
        self.outlived = np.zeros(len(as_of), dtype=np.bool_)

    @property
    def asked(self) -> Floats:
        """When the ranges of those that run were asked for."""
        return self._as_of[self._rows]

    def levels(self, now: float, ended: int) -> Floats:
        """Return levels that jobs are known to have passed, when the first ``ended`` have ended."""
        come = int(np.searchsorted(self._arrivals, now, side="right"))
        rows = np.concatenate([self._rows, self._by_arrival[self._came : come]])
        self._came = come
        rows = rows[rows >= ended]
        known = (self._passed[rows] <= now).sum(axis=1)
        # a job that has come and not begun tells nothing
        self._levels = np.where(known > 0, PASSED[known - 1], -np.inf)
        self._rows = rows
        passed: Floats = self._levels[known > 0]
        return passed

    def newly_outlived(self, given: Floats) -> int:
        """Count running jobs that passed the level they were given, each of them once."""
        new = (self._levels > given) & ~self.outlived[self._rows]
        self.outlived[self._rows[new]] = True
        return int(new.sum())


def bounded_quantile(levels: Floats, bounds: Floats, *half_lives: float) -> float:
    """Return what the next level stays under 95 % of the time, some known only as lower bounds.

    Kaplan and Meier's estimate; levels at the end count more, bounds are of now. Without bounds it
    is :func:`~prophase.profile.predict.conformal_range.conformal_quantile`.

    Examples
    --------
    >>> ended = np.arange(1.0, 101.0)
    >>> bounded_quantile(ended, np.empty(0), np.inf), bounded_quantile(ended, ended[49:80], np.inf)
    (96.0, 98.0)
    """
    age = np.arange(len(levels))[::-1]
    every = np.concatenate([levels, bounds])
    ended = np.arange(len(every)) < len(levels)
    # at the same level, an outcome comes before a bound
    order = np.lexsort((~ended, every))
    found = -np.inf
    for half_life in half_lives:
        weight = np.concatenate([0.5 ** (age / half_life), np.ones(len(bounds))])[order]
        # the outcome to come counts as one more, of unknown size
        at_risk = np.cumsum(weight[::-1])[::-1] + 1.0
        beyond = np.cumprod(np.where(ended[order], 1.0 - weight / at_risk, 1.0))
        place = int((beyond > TAIL + 1e-12).sum())
        found = max(found, float(every[order][min(place, len(every) - 1)]))
    return found
