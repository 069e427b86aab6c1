"""What an outcome can be at all: not longer than the time limit allows, not finer than the clock.

A batch system ends a job at its time limit, some seconds late. How late, and whether limits are
kept at all, is seen in the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from prophase.array_types import Bools, Floats

#: jobs with a limit that are needed to say whether limits are kept
_FEWEST = 30
#: limits are kept if at most this share of jobs runs a tenth and a minute beyond theirs or more
_STRAY_SHARE = 0.01
_BEYOND = 1.1
#: of the jobs that ran beyond their limit, how many the grace covers
_COVERED = 0.99
#: outcomes are whole seconds if so many of them are
_NEARLY_ALL = 0.999


def ignores_limit(run_s: Floats | float, limit_s: Floats | float) -> Bools:
    """Say which runs end so long after their limit that it did not end them.

    Examples
    --------
    >>> ignores_limit(np.array([3620.0, 7200.0]), np.array([3600.0, 3600.0])).tolist()
    [False, True]
    """
    return np.asarray(run_s) > _BEYOND * np.asarray(limit_s) + 60


@dataclass(frozen=True)
class RecordedBounds:
    """How far beyond its limit a job runs, and in which steps outcomes are recorded.

    Examples
    --------
    >>> limit = np.full(100, 600.0)
    >>> run = np.concatenate([np.arange(1.0, 91.0), np.full(10, 605.0)])
    >>> held = RecordedBounds.of(run, limit)
    >>> held.grace_s, held.step, np.exp(held.longest(np.array([60.0, np.nan])))
    (5.0, 1.0, array([65., inf]))
    """

    #: seconds beyond the limit; infinite if limits are not kept or not known
    grace_s: float = np.inf
    #: 1 if outcomes are whole numbers, else 0
    step: float = 0.0

    @classmethod
    def of(cls, outcome: Floats, limit_s: Floats) -> Self:
        """Look at outcomes and the limits of their jobs."""
        positive = outcome[outcome > 0]
        whole = len(positive) > 0 and float((positive % 1 == 0).mean()) >= _NEARLY_ALL
        known = np.isfinite(limit_s) & (limit_s > 0) & (outcome > 0)
        beyond = outcome[known] - limit_s[known]
        strays = ignores_limit(outcome[known], limit_s[known])
        stray = float(strays.mean()) if known.any() else 1.0
        grace = np.inf
        if known.sum() >= _FEWEST and stray <= _STRAY_SHARE:
            late = beyond[beyond > 0]
            grace = float(np.quantile(late, _COVERED)) if len(late) else 0.0
        return cls(grace, 1.0 if whole else 0.0)

    def longest(self, limit_s: Floats) -> Floats:
        """Return the logarithm of the longest possible run of each job."""
        known = np.isfinite(limit_s) & (limit_s > 0)
        return np.where(known, np.log(np.where(known, limit_s, 1.0) + self.grace_s), np.inf)

    def recorded(self, value: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what can be recorded: ranges reach to the next step, values lie on one."""
        if not self.step:
            return value, low, high
        value = np.maximum(np.rint(value), self.step)
        # a whole number whose logarithm was taken may have become a little more or less
        low, high = np.floor(low * (1 + 1e-9)), np.ceil(high * (1 - 1e-9))
        return value, np.maximum(low, self.step), np.maximum(high, value)
