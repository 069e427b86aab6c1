"""Matrix products in blocks: quick on a busy machine, and the same bytes on every one.

A linear-algebra library hands large products to several threads. On a busy machine they wait for
each other, and the order of their sums depends on how many there are. Blocks stay below the size
from which on that happens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophase.trace.series.usage_series import Floats

#: rows of a block
BLOCK = 512


def summed_products(left: Floats, right: Floats) -> Floats:
    """Return left' right for tall left (n, a) and right (n, b).

    Examples
    --------
    >>> summed_products(np.ones((1000, 1)), np.arange(1000.0)[:, None])
    array([[499500.]])
    """
    whole = len(left) // BLOCK * BLOCK
    blocks = left[:whole].reshape(-1, BLOCK, left.shape[1]).transpose(0, 2, 1)
    total = (blocks @ right[:whole].reshape(-1, BLOCK, right.shape[1])).sum(axis=0)
    return np.asarray(total + left[whole:].T @ right[whole:])


def in_blocks(rows: Floats, work: Callable[[Floats], NDArray[Any]]) -> NDArray[Any]:
    """Return what ``work`` makes of the rows, a block at a time.

    Examples
    --------
    >>> in_blocks(np.ones((1000, 2)), lambda block: block.sum(axis=1)).shape
    (1000,)
    """
    if len(rows) <= BLOCK:
        return work(rows)
    first = work(rows[:BLOCK])
    found = np.empty((len(rows), *first.shape[1:]), dtype=first.dtype)
    found[:BLOCK] = first
    for begin in range(BLOCK, len(rows), BLOCK):
        found[begin : begin + BLOCK] = work(rows[begin : begin + BLOCK])
    return found
