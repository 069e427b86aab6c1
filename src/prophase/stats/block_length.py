"""How many days in a row have to stay together, so that what they share is not broken up.

A backlog of a busy fortnight lasts because its days come one after the other. Traces made of
single days drawn with replacement have no busy fortnights, so their waits are too short and too
much alike. Blocks have to be as long as the load remembers itself, and as the backlog lasts.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from prophase.stats.blocks import Floats

#: correlations below this are taken for none when a correlation time is added up
_NONE = 0.05
#: fewer values in a row show no dependence that could be told from chance
_FEWEST = 5
#: blocks that a series is divided into at least
_BLOCKS = 6


def days_together(load: ArrayLike, waiting: ArrayLike) -> int:
    """Return how many days a block needs.

    Twice the length that Politis and White (2004) give for the load of days (theirs is the best
    for the variance of a mean; intervals that hold the truth often enough want longer blocks), or
    the correlation time of the waiting if that is longer.

    Parameters
    ----------
    load, waiting : array of shape (days,)
        Work that was submitted on each day, and how long its jobs waited in all.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> days_together(rng.exponential(size=90), np.zeros(90))
    3
    >>> fortnights = np.repeat(rng.exponential(size=9), 14)
    >>> days_together(fortnights, fortnights) > 14
    True
    """
    of_load = 2 * politis_white(np.asarray(load, np.float64))
    of_waiting = correlation_time(np.asarray(waiting, np.float64))
    return max(1, math.ceil(of_load - 1e-9), math.ceil(of_waiting - 0.5))


def days_drawn(load: ArrayLike, waiting: ArrayLike, by_chance: float) -> int:
    """Return how many days in a row resampled traces keep together, at most a sixth of all.

    As many as a block needs, and twice as many as the load remembers itself behind what varies by
    chance. Where that would leave fewer than six blocks, six it is. The interval of a paired
    change is then wide, and holds the truth; if only those traces were answered that look as if
    short blocks would do, it would do so less often (``benchmarks/quality/backlog_coverage.py``).

    Parameters
    ----------
    by_chance : float
        Variance of a day's load if jobs came independently: the sum of their squared work.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fortnights = np.repeat(rng.exponential(size=9), 14)
    >>> days_drawn(fortnights, fortnights, 0.0)
    21
    """
    work = np.asarray(load, np.float64)
    needed = max(days_together(work, waiting), math.ceil(2 * memory(work, by_chance) - 1e-9))
    return max(1, min(needed, len(work) // _BLOCKS))


def memory(load: Floats, by_chance: float) -> float:
    """Return the correlation time of the load behind what varies by chance.

    Chance adds to how much days differ, not to how much neighbours have in common, and hides how
    long a busy spell lasts. A first-order autoregression, with the correlation corrected for the
    length of the series (Marriott and Pope 1954).

    Examples
    --------
    >>> memory(np.repeat([1.0, 5.0, 2.0, 6.0], 5), by_chance=0.5) > memory(np.arange(20.0) % 5, 0.5)
    True
    """
    count, away = len(load), load - load.mean()
    if count < _FEWEST:
        return 1.0
    own, next_to_it = away @ away / count - by_chance, away[:-1] @ away[1:] / count
    if own <= 0 or next_to_it <= 0:
        return 1.0
    share = min(next_to_it / own, 1.0)
    kept = min((count * share + 1) / (count - 3), 1 - 1 / count)
    return float((1 + kept) / (1 - kept))


def politis_white(values: Floats) -> float:
    """Return the length of circular blocks that estimates the variance of a mean best.

    Politis and White (2004) with the correction of Patton, Politis and White (2009).

    Examples
    --------
    >>> politis_white(np.tile([1.0, 2.0, 3.0, 2.0], 8)) > 0
    True
    """
    count = len(values)
    if count < _FEWEST or not np.ptp(values) > 0:
        return 0.0
    away = values - values.mean()
    row = max(5, math.ceil(math.sqrt(math.log10(count))))
    most = min(math.ceil(math.sqrt(count)) + row, count - 1)
    covariance = np.array([away[: count - lag] @ away[lag:] / count for lag in range(most + 1)])
    chance = 2 * math.sqrt(math.log10(count) / count)
    small = np.abs(covariance / covariance[0]) < chance
    # the last lag before a row of correlations that chance explains
    longest = max(most - row, 1)
    after = [lag for lag in range(1, longest + 1) if small[lag : lag + row].all()]
    reach = min(2 * max(1, (after[0] if after else longest + 1) - 1), most)
    lags = np.arange(-reach, reach + 1)
    share = np.abs(lags) / reach
    flat_top = np.where(share <= 0.5, 1.0, 2 * (1 - share))
    there = covariance[np.abs(lags)]
    curvature = float((flat_top * np.abs(lags) * there).sum())
    level = float((flat_top * there).sum())
    if level <= covariance[0]:
        # days that make up for each other: single ones overstate how much their mean varies
        return 1.0
    length = (1.5 * curvature**2 / level**2 * count) ** (1 / 3)
    return float(min(length, count / 3))


def correlation_time(values: Floats) -> float:
    """Return how many values in a row tell as much as one independent value.

    Examples
    --------
    >>> correlation_time(np.tile([1.0, -1.0], 20))
    1.0
    """
    count = len(values)
    if count < _FEWEST or not np.ptp(values) > 0:
        return 1.0
    away = values - values.mean()
    whole, total = float(away @ away), 1.0
    for lag in range(1, count // 2):
        correlation = float(away[: count - lag] @ away[lag:]) / whole
        if correlation <= _NONE:
            break
        total += 2 * correlation
    return total
