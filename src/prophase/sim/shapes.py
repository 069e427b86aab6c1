"""Shapes: the distinct requests of a workload."""

from __future__ import annotations

import numpy as np

from prophase.sim.kernels.rows import number_rows
from prophase.sim.signatures import Ints

#: most workloads have fewer shapes than half of this; others take a larger table
_TABLE = 1 << 14


def distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Return the different rows, and for each row the place of its like among them.

    Examples
    --------
    >>> shapes, shape_of = distinct_rows(np.array([[1, 2], [3, 4], [1, 2]]))
    >>> shapes.tolist(), shape_of.tolist()
    ([[1, 2], [3, 4]], [0, 1, 0])
    """
    # a column that is the same everywhere tells nothing apart
    varied = [c for c in range(rows.shape[1]) if len(rows) and np.ptp(rows[:, c])]
    telling = rows if len(varied) == rows.shape[1] else rows[:, varied]
    place, size = np.empty(len(rows), np.int64), _TABLE
    while True:
        first = np.empty(size, np.int64)
        found = number_rows(telling, place, first, np.full(size, -1, np.int64))
        if found >= 0:
            return np.ascontiguousarray(rows[first[:found]]), place
        size *= 8
