"""Intervals of quantiles: the interval of the share below it, read back from the values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from prophase.errors import ParameterError
from prophase.stats.blocks import Blocks
from prophase.stats.estimate import LEVEL, Estimate
from prophase.stats.interval_of_share import share


def quantile(values: ArrayLike, part: float, blocks: Blocks, *, level: float = LEVEL) -> Estimate:
    """Return the value that ``part`` of the rows stay below (Woodruff 1952).

    Where the interval of the share reaches past the largest or smallest value seen, there is none:
    nobody knows how far beyond the end lies.

    Examples
    --------
    >>> days = Blocks.of(np.repeat(np.arange(10), 20), unit="day")
    >>> found = quantile(np.tile(np.arange(20.0), 10), 0.5, days)
    >>> found.value, found.low < 9.5 < found.high
    (9.5, True)
    >>> quantile(np.tile(np.arange(20.0), 10), 0.999, days).reason
    'too few to say: the interval reaches beyond the values seen'
    """
    if not 0 < part < 1:
        raise ParameterError(f"quantile: part is {part}, but lies between 0 and 1, such as 0.9.")
    seen = np.asarray(values, np.float64)
    if not seen.size:
        return Estimate(np.nan, level=level, reason="no value")
    value = float(np.quantile(seen, part))
    below = share(seen <= value, blocks, level=level)
    if not below.known:
        return replace(below, value=value)
    # ties put more than the part at or below the value: move the interval to where it belongs
    low, high = below.low + part - below.value, below.high + part - below.value
    edge = 1 / (seen.size + 1)
    if low < edge or high > 1 - edge:
        why = "too few to say: the interval reaches beyond the values seen"
        return Estimate(value, level=level, n=seen.size, blocks=blocks.count, reason=why)
    ends = np.quantile(seen, [max(low, 0.0), min(high, 1.0)])
    return replace(
        below,
        value=value,
        low=min(float(ends[0]), value),
        high=max(float(ends[1]), value),
        method=f"interval of the share below, over {blocks.told()}",
    )


def beyond_highest(count: int, chance: float) -> float:
    """Return how far beyond the highest of so many normal values the next lies with this chance.

    In standard deviations of those values; the highest is exceeded once in ``count + 1`` times.

    Examples
    --------
    >>> round(beyond_highest(10, 0.01), 2), round(beyond_highest(10, 0.2), 2)
    (1.52, -0.62)
    """
    from scipy.special import stdtrit

    at_chance, at_highest = stdtrit(count - 1, [1.0 - chance, count / (count + 1)])
    return float(at_chance - at_highest) * math.sqrt((count + 1) / (count - 1))
