"""Requests people would write: round numbers, never below what is needed."""

from __future__ import annotations

import math

FINE = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
COARSE = (1.0, 2.0, 5.0, 10.0)


def round_up(amount: float, steps: tuple[float, ...] = FINE) -> float:
    """Return the next round number that is not below an amount.

    Examples
    --------
    >>> [round_up(amount) for amount in (4.8, 19.5, 0.31, 175.0, 5.0)]
    [5.0, 20.0, 0.4, 200.0, 5.0]
    >>> [round_up(amount, COARSE) for amount in (3.2, 13.5)]
    [5.0, 20.0]
    """
    if amount <= 0 or not math.isfinite(amount):
        return amount
    scale = 10.0 ** math.floor(math.log10(amount))
    # a sum of binary fractions may lie a hair above the number it stands for
    step = next((one for one in steps if one * scale >= amount * (1 - 1e-12)), 10.0)
    return round(step * scale, 12)
