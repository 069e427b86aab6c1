"""How far two labellings of the same samples agree."""

from __future__ import annotations

import numpy as np

from prophase.phase.series import Floats, Ints


def adjusted_rand_index(one: Ints, other: Ints) -> float:
    """Return how far two labellings agree, whatever the labels are called: 1 fully, 0 by chance.

    Examples
    --------
    >>> adjusted_rand_index(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3]))
    1.0
    """
    table = np.zeros((int(one.max()) + 2, int(other.max()) + 2))
    np.add.at(table, (one + 1, other + 1), 1.0)

    def pairs(counts: Floats) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, rows, columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = rows * columns / max(pairs(np.array([float(len(one))])), 1.0)
    most = (rows + columns) / 2
    return 1.0 if most == expected else float((both - expected) / (most - expected))
