"""Intervals of ratios of sums, from days of a trace drawn with replacement."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from prophase.sim.signatures import Floats

_DAY_S, _DRAWS, _LEVEL = 86400.0, 1000, 0.95


def ratio_intervals(
    submit_s: Floats, parts: Floats, whole: Floats
) -> tuple[list[float], list[float]] | None:
    """Return 95 % intervals of sum(part) / sum(whole), one per column of ``parts``.

    Both sums are drawn together, so that what makes a day heavy drops out. None where jobs of
    fewer than two days waited: one day says nothing about others.

    Examples
    --------
    >>> days = 86400.0 * np.arange(20)
    >>> low, high = ratio_intervals(days, np.full((20, 1), 0.25), np.ones(20))
    >>> low, high
    ([0.25], [0.25])
    """
    names, place = np.unique(np.floor(submit_s / _DAY_S), return_inverse=True)
    wholes = np.bincount(place, whole)
    if np.count_nonzero(wholes) < 2:
        return None
    sums = np.stack([np.bincount(place, column) for column in parts.T], axis=1)
    drawn = np.random.default_rng(0).integers(len(names), size=(_DRAWS, len(names)))
    below = wholes[drawn].sum(axis=1)
    # days without any waiting alone say nothing
    ratios = sums[drawn[below > 0]].sum(axis=1) / below[below > 0][:, None]
    low, high = np.quantile(ratios, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    middle = sums.sum(axis=0) / wholes.sum()
    # few days spread too little under the bootstrap: widen as t does over the normal law
    widen = float(stdtrit(len(names) - 1, (1 + _LEVEL) / 2) / stdtrit(1e9, (1 + _LEVEL) / 2))
    return (
        (middle - (middle - low) * widen).tolist(),
        (middle + (high - middle) * widen).tolist(),
    )
