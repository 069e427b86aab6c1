"""Intervals of means, ratios of sums and paired differences: one block left out at a time.

The jackknife over blocks with the weights of Bell and McCaffrey (2002): for blocks of equal
weight exactly the t interval of the block means, and right also where blocks are few and differ
in size, where a bootstrap's percentiles are too narrow.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from prophase.stats.blocks import Blocks, Floats, degrees_of_freedom, t_factor, why_too_short
from prophase.stats.estimate import LEVEL, Estimate

#: blocks from which their own skewness is taken into account, and the most that it may be
_ENOUGH_BLOCKS, _MOST_SKEW = 7, 0.5


def mean(values: ArrayLike, blocks: Blocks, *, level: float = LEVEL) -> Estimate:
    """Return the mean over rows.

    Examples
    --------
    >>> blocks = Blocks.of([0, 0, 1, 1, 2, 2], unit="day")
    >>> found = mean([8.0, 10.0, 9.0, 11.0, 10.0, 12.0], blocks)
    >>> round(found.value, 4), round(found.half_width, 4), found.blocks
    (10.0, 2.4841, 3)
    """
    return ratio(values, np.ones(blocks.rows), blocks, level=level)


def difference(
    before: ArrayLike, after: ArrayLike, blocks: Blocks, *, level: float = LEVEL
) -> Estimate:
    """Return the mean of after - before over rows that are pairs.

    What both sides of a pair share, such as a busy day, drops out.
    """
    return mean(np.asarray(after, float) - np.asarray(before, float), blocks, level=level)


def ratio(above: ArrayLike, below: ArrayLike, blocks: Blocks, *, level: float = LEVEL) -> Estimate:
    """Return sum(above) / sum(below), such as hours saved over hours reserved.

    Where few large rows or days pull to one side, the interval reaches further to that side.

    Parameters
    ----------
    above, below : array of shape (rows,)
        ``below`` is nowhere negative.

    Examples
    --------
    >>> blocks = Blocks.of([0, 0, 1, 1, 2, 2], unit="day")
    >>> found = ratio([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], np.full(6, 4.0), blocks)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.5, -0.121, 1.121)
    >>> ratio([1.0, 1.0], [4.0, 4.0], Blocks.of([0, 1], unit="day")).reason
    'too short to say: 2 days, at least 3 needed'
    """
    tops, bottoms = blocks.sums(above), blocks.sums(below)
    whole = float(bottoms.sum())
    if not whole > 0:
        return Estimate(math.nan, level=level, n=blocks.rows, reason="nothing to divide by")
    value = float(tops.sum()) / whole
    held = int(np.count_nonzero(bottoms))
    why = why_too_short(bottoms, blocks.unit)
    if why:
        return Estimate(value, level=level, n=blocks.rows, blocks=held, reason=why)
    freedom = degrees_of_freedom(bottoms)
    reach, error = t_factor(freedom, level), standard_error(tops, bottoms)
    rows = np.asarray(above, float) - value * np.asarray(below, float)
    down, up = _skewed(rows, tops - value * bottoms, reach)
    return Estimate(
        value,
        value - down * error,
        value + up * error,
        level,
        n=blocks.rows,
        blocks=held,
        method=f"jackknife over {held:,} {blocks.unit}s, t with {freedom:.3g} degrees of freedom",
    )


def standard_error(tops: Floats, bottoms: Floats) -> float:
    """Return the standard error of a ratio of sums over blocks."""
    part = bottoms / bottoms.sum()
    left_out = (tops.sum() - tops) / (bottoms.sum() - bottoms)
    away = left_out - tops.sum() / bottoms.sum()
    return float(np.sqrt(((1 - part) * away**2).sum()))


def _skewed(rows: Floats, sums: Floats, reach: float) -> tuple[float, float]:
    """Return how many standard errors the interval reaches down and up.

    The first term of the Edgeworth expansion of Student's t (Johnson, 1978; Hall, 1992), with the
    skewness of the rows and, where there are enough of them, of the blocks; it only ever widens.
    """
    spread = max(float((sums**2).sum()), float((rows**2).sum()))
    if not spread > 0:
        return reach, reach
    skews = [0.0, float((rows**3).sum()) / spread**1.5]
    if np.count_nonzero(sums) >= _ENOUGH_BLOCKS:
        skew = float((sums**3).sum()) / float((sums**2).sum()) ** 1.5
        skews.append(min(max(skew, -_MOST_SKEW), _MOST_SKEW))
    more = (2 * reach**2 + 1) / 6
    return reach - min(skews) * more, reach + max(skews) * more
