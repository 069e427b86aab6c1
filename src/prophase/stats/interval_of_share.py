"""How often something happens, such as kills, with an interval that knows they come together.

Clopper and Pearson's interval for as many runs as the blocks bear out (Korn and Graubard 1998):
runs are divided by the design effect, the variance between blocks over that of independent runs,
and by what Student's t with few blocks costs over the same with many.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from prophase.stats.blocks import Blocks, Floats, degrees_of_freedom, t_factor, why_too_short
from prophase.stats.estimate import LEVEL, Estimate
from prophase.stats.interval_of_ratio import standard_error

#: where days differ, counts are more skewed than independent ones: so many more (effective) hits
#: go into the far end when nearly all of the variance is between days. Second order term of
#: Cornish and Fisher for gamma distributed rates: (2 * 1.96**2 + 1) / 6
_SKEW = 1.5


def share(hits: ArrayLike, blocks: Blocks, *, level: float = LEVEL) -> Estimate:
    """Return the share of rows that are hits.

    With no hit at all, blocks cannot show how much they differ: runs then count as independent but
    for the factor of few blocks, which holds the level as long as the rates of days differ by no
    more than about their own size.

    Parameters
    ----------
    hits : array of bool, shape (rows,)

    Examples
    --------
    >>> days = Blocks.of(np.repeat(np.arange(20), 50), unit="day")
    >>> spread, together = np.arange(1000) % 50 == 0, np.arange(1000) < 20
    >>> found, other = share(spread, days), share(together, days)
    >>> found.value == other.value, other.low < found.low < found.high < other.high
    (True, True)
    >>> round(share(np.zeros(1000, bool), days).high, 4)
    0.0042
    """
    hit = np.asarray(hits, np.float64)
    sizes, kills = blocks.sizes(), blocks.sums(hit)
    runs = float(blocks.rows)
    if not runs:
        return Estimate(math.nan, level=level, reason="no run")
    value = float(kills.sum()) / runs
    why = why_too_short(sizes, blocks.unit)
    if why:
        return Estimate(value, level=level, n=blocks.rows, blocks=blocks.count, reason=why)
    design = design_effect(kills, sizes)
    few = t_factor(degrees_of_freedom(sizes), level) / t_factor(runs - 1, level)
    effective = runs / (design * few**2)
    low, high = _ends(value, effective, design, level)
    return Estimate(
        value,
        low,
        high,
        level,
        n=blocks.rows,
        blocks=blocks.count,
        method=f"Clopper-Pearson, {blocks.rows:,} runs of {blocks.told()} "
        f"that count as {effective:,.0f}",
    )


def design_effect(hits: Floats, sizes: Floats) -> float:
    """Return how many runs count as one: variance over blocks against independent runs.

    Few hits cannot show that blocks are more alike than chance makes them, so the effect is at
    least 1 / (1 + hits); of none it is 1.

    Examples
    --------
    >>> design_effect(np.array([0.0, 0.0, 0.0]), np.array([10.0, 10.0, 10.0]))
    1.0
    >>> round(design_effect(np.array([9.0, 0.0, 0.0]), np.array([10.0, 10.0, 10.0])), 2)
    12.86
    """
    runs, total = float(sizes.sum()), float(hits.sum())
    value = total / runs
    alone = value * (1 - value) / runs
    if alone <= 0:
        return 1.0
    rarer = min(total, runs - total)
    return max(standard_error(hits, sizes) ** 2 / alone, 1 / (1 + rarer))


def wilson_ends(shares: Floats, runs: float, reach: float) -> tuple[Floats, Floats]:
    """Return Wilson's ends of many shares at once, each of so many independent runs.

    Parameters
    ----------
    reach : float
        Standard deviations to either side; 1.645 hold 90 % of a normal distribution.

    Examples
    --------
    >>> low, high = wilson_ends(np.array([0.0, 0.5]), 100, 1.645)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.419], [0.026, 0.581])
    """
    spread = reach**2 / runs
    centre = (shares + spread / 2) / (1 + spread)
    away = np.sqrt(shares * (1 - shares) * spread + spread**2 / 4) / (1 + spread)
    return np.maximum(centre - away, 0.0), np.minimum(centre + away, 1.0)


def _ends(value: float, runs: float, design: float, level: float) -> tuple[float, float]:
    """Return the ends for so many effective runs; the end away from the near bound is skewed."""
    hits, held = value * runs, (1 - value) * runs
    skew = _SKEW * (1 - 1 / max(design, 1.0)) * (1 - 2 * value)
    rest = (1 - level) / 2
    from scipy.special import betaincinv

    low = float(betaincinv(hits, held + 1 + max(-skew, 0.0), rest)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1 + max(skew, 0.0), held, 1 - rest)) if held > 0 else 1.0
    return low, high
