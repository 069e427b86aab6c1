"""Intervals of anything else: whole blocks drawn with replacement."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophase.stats.blocks import Blocks, degrees_of_freedom, t_factor, why_too_short
from prophase.stats.estimate import LEVEL, Estimate

Rows = NDArray[np.intp]

#: the spread of so many draws is known to within 5 %
DRAWS = 200


def statistics(
    of_rows: Callable[[Rows], ArrayLike],
    blocks: Blocks,
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    random_state: int = 0,
) -> list[Estimate]:
    """Return numbers computed from rows, each with its interval.

    Parameters
    ----------
    of_rows : function
        From the places of rows (some repeated) to one or several numbers. NaN and infinity in a
        draw leave that draw out.

    Examples
    --------
    >>> values = np.tile(np.arange(9.0), 30)
    >>> days = Blocks.of(np.repeat(np.arange(30), 9), unit="day")
    >>> (spread,) = statistics(lambda rows: np.std(values[rows]), days)
    >>> round(spread.value, 3), round(spread.half_width, 3)
    (2.582, 0.0)
    """
    whole = np.atleast_1d(np.asarray(of_rows(np.arange(blocks.rows)), np.float64))
    sizes = blocks.sizes()
    why = why_too_short(sizes, blocks.unit)
    if why or draws < 2:
        why = why or "no resampling was asked for"
        return [
            Estimate(float(value), level=level, n=blocks.rows, blocks=blocks.count, reason=why)
            for value in whole
        ]
    order = np.argsort(blocks.of_row, kind="stable")
    parts = np.split(order, np.cumsum(sizes[:-1]).astype(np.intp))
    rng = np.random.default_rng(random_state)
    found = np.array(
        [
            np.atleast_1d(of_rows(np.concatenate([parts[one] for one in drawn])))
            for drawn in rng.integers(blocks.count, size=(draws, blocks.count))
        ],
        dtype=np.float64,
    )
    return [
        from_draws(column, sizes, value=float(value), unit=blocks.unit, n=blocks.rows, level=level)
        for value, column in zip(whole, found.T, strict=True)
    ]


def from_draws(
    draws: ArrayLike,
    weights: ArrayLike,
    *,
    value: float | None = None,
    unit: str = "day",
    n: int = 0,
    level: float = LEVEL,
) -> Estimate:
    """Return the interval of a number from its values on resampled histories.

    More draws make the ends steadier, not closer: what limits them is the number of blocks. The
    interval is t times the spread of the draws; that is widened because few blocks spread too
    little when drawn with replacement.

    Parameters
    ----------
    draws : array
        The number on each resampled history.
    weights : array
        Rows in each block that was drawn from; ones if blocks are alike.
    value : float, optional
        The number on the history itself; the mean of the draws if not given.

    Examples
    --------
    >>> found = from_draws([9.0, 10.0, 11.0], np.ones(30))
    >>> round(found.value, 4), round(found.half_width, 2)
    (10.0, 5.05)
    """
    drawn, weight = np.asarray(draws, np.float64), np.asarray(weights, np.float64)
    drawn = drawn[np.isfinite(drawn)]
    held = int(np.count_nonzero(weight))
    middle = value if value is not None else float(drawn.mean()) if len(drawn) else math.nan
    why = why_too_short(weight, unit)
    if not why and not (len(drawn) > 1 and math.isfinite(middle)):
        why = "not defined on enough of the resampled histories"
    if why:
        return Estimate(middle, level=level, n=n, blocks=held, reason=why)
    # of so many equal blocks the weights are worth
    worth = float(weight.sum() ** 2 / (weight**2).sum())
    spread = float(drawn.std(ddof=1)) * math.sqrt(worth / (worth - 1))
    if value is None:
        spread *= math.sqrt(1 + 1 / len(drawn))
    freedom = min(degrees_of_freedom(weight), len(drawn) - 1.0)
    half = t_factor(freedom, level) * spread
    return Estimate(
        middle,
        middle - half,
        middle + half,
        level,
        n=n,
        blocks=held,
        method=f"bootstrap over {held:,} {unit}s, t with {freedom:.3g} degrees of freedom",
    )
