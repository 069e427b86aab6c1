"""Intervals of anything else: whole blocks drawn with replacement."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophase.stats.blocks import (
    Blocks,
    Floats,
    counted,
    degrees_of_freedom,
    t_factor,
    why_too_short,
)
from prophase.stats.estimate import LEVEL, Estimate

Rows = NDArray[np.intp]

#: the spread of so many draws is known to within 5 %
DRAWS = 200
#: with fewer draws the length of an interval is luck: of the same skewed history, two sets of
#: eight draws give lengths within a factor of 2.6 of each other (95 % of histories), of five
#: within 4, of three within 12, and three are all equal in up to 5 % of histories although days
#: differ (``benchmarks/quality/resampled_coverage.py``)
LEAST_DRAWS = 8
#: draws that differ by less than this share of their size are equal but for rounding
_ROUNDING = 1e-9


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
    >>> values = np.tile(np.arange(9.0), 30) + np.repeat(np.arange(30.0), 9)
    >>> days = Blocks.of(np.repeat(np.arange(30), 9), unit="day")
    >>> (spread,) = statistics(lambda rows: np.std(values[rows]), days)
    >>> round(spread.value, 1), spread.holds(9.0)
    (9.0, True)
    """
    whole = np.atleast_1d(np.asarray(of_rows(np.arange(blocks.rows)), np.float64))
    alone = Estimate(math.nan, level=level, n=blocks.rows, blocks=blocks.count)
    sizes = blocks.sizes()
    why = why_too_short(sizes, blocks.unit)
    if why or draws < 1:
        why = why or "no resampling was asked for"
        return [replace(alone, value=float(value), reason=why) for value in whole]
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
    estimates = []
    for value, column in zip(whole, found.T, strict=True):
        drawn = column[np.isfinite(column)]
        if len(drawn) < LEAST_DRAWS or not math.isfinite(value):
            why = "not defined on enough of the resampled histories"
            estimates.append(replace(alone, value=float(value), reason=why))
        else:
            estimates.append(_spread(drawn, sizes, float(value), blocks.unit, blocks.rows, level))
    return estimates


def from_draws(
    draws: ArrayLike, blocks: int, *, unit: str = "day", recorded: float | None = None
) -> Estimate:
    """Return the mean of a number over resampled traces, and its interval.

    More draws make the ends steadier, not closer: what limits them is the number of blocks. Below
    :data:`LEAST_DRAWS` draws there is no interval, nor where all draws are equal: whether by luck
    or because all blocks are alike, they do not say how much the number may vary.

    Parameters
    ----------
    draws : array
        The number on each resampled trace; NaN and infinity where it is not defined.
    blocks : int
        Blocks that were drawn from.
    recorded : float, optional
        The number on the trace itself, which is then the value, instead of the mean of the draws.

    Examples
    --------
    >>> found = from_draws(np.arange(6.0, 15.0), 30)
    >>> round(found.value, 4), round(found.half_width, 2)
    (10.0, 7.11)
    >>> from_draws([9.0, 10.0, 11.0], 30).reason
    'only 3 resampled traces, at least 8 needed: use --seeds 10'
    """
    made = np.asarray(draws, np.float64)
    drawn, weight = made[np.isfinite(made)], np.ones(blocks)
    middle = float(drawn.mean()) if len(drawn) else math.nan
    middle = middle if recorded is None else recorded
    why = why_too_short(weight, unit) or why_too_few(len(made)) or _why_not(drawn, len(made))
    if why:
        return Estimate(middle, n=len(made), blocks=blocks, reason=why)
    # the mean of the draws is not the number on the history itself
    own = math.sqrt(1 + 1 / len(drawn)) if recorded is None else 1.0
    return _spread(own * drawn, weight, middle, unit, len(made), LEVEL)


def _spread(
    drawn: Floats, weight: Floats, middle: float, unit: str, n: int, level: float
) -> Estimate:
    """Return t times the spread of the draws around a number.

    The spread is widened because few blocks spread too little when drawn with replacement. Few
    blocks and few draws both make it uncertain, so the degrees of freedom are those of both.
    """
    # of so many equal blocks the weights are worth
    worth = float(weight.sum() ** 2 / (weight**2).sum())
    spread = float(drawn.std(ddof=1)) * math.sqrt(worth / (worth - 1))
    freedom = 1 / (1 / degrees_of_freedom(weight) + 1 / (len(drawn) - 1))
    half = t_factor(freedom, level) * spread
    held = int(np.count_nonzero(weight))
    method = f"bootstrap over {counted(held, unit)}, t with {freedom:.3g} degrees of freedom"
    return Estimate(middle, middle - half, middle + half, level, n, held, method)


def why_too_few(draws: int) -> str:
    """Return why so many resampled traces give no interval; nothing if they give one.

    Examples
    --------
    >>> why_too_few(1), why_too_few(10)
    ('only 1 resampled trace, at least 8 needed: use --seeds 10', '')
    """
    if draws >= LEAST_DRAWS:
        return ""
    few = f"only {counted(draws, 'resampled trace')}" if draws else "no resampled traces"
    return f"{few}, at least {LEAST_DRAWS} needed: use --seeds 10"


def _why_not(drawn: Floats, made: int) -> str:
    """Return why the defined ones of enough draws give no interval; nothing if they do."""
    if len(drawn) < LEAST_DRAWS:
        return f"defined on only {len(drawn)} of {made} resampled traces, {LEAST_DRAWS} needed"
    if np.ptp(drawn) <= _ROUNDING * np.abs(drawn).max():
        return f"the same on all {len(drawn)} resampled traces, so how much it may vary is unknown"
    return ""
