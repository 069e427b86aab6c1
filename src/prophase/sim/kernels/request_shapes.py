"""Number the distinct rows of a matrix."""

from __future__ import annotations

import numpy as np
from numba import types

from prophase.sim.compilation import call, njit
from prophase.sim.signatures import (
    ASK_COLUMNS,
    ASK_CPU,
    ASK_GPUS,
    ASK_HELD,
    ASK_MEMORY,
    ASK_MILLI,
    INT,
    INT_LINE,
    LOOP,
    Ints,
    held_unit,
)

_ANY_GRID = types.Array(types.int64, 2, "A", readonly=True)
#: odd and with bits all over (Knuth's multiplicative hashing, 2^64 / golden ratio, as signed)
_SPREAD = -7046029254386353131


@njit(INT(_ANY_GRID, INT_LINE, INT_LINE, INT_LINE, INT_LINE), **LOOP)
def number_rows(rows: Ints, columns: Ints, place: Ints, first: Ints, table: Ints) -> int:
    """Fill each row's number, in order of appearance, and each number's first row.

    Rows are told apart by the given columns. ``table`` holds -1 everywhere, a power of two of
    places. Returns how many there are, or -1 when more than half of the table would be full.
    """
    found, previous = 0, -1
    for row in range(rows.shape[0]):
        mixed = np.int64(0)
        for column in columns:
            mixed = (mixed ^ rows[row, column]) * np.int64(_SPREAD)
            mixed ^= (mixed >> np.int64(29)) & np.int64(0x7FFFFFFFF)
        spot = mixed & (table.size - 1)
        while True:
            previous = table[spot]
            if previous < 0:
                break
            same = True
            for column in columns:
                if rows[first[previous], column] != rows[row, column]:
                    same = False
                    break
            if same:
                break
            spot = (spot + 1) & (table.size - 1)
        if previous < 0:
            if 2 * found >= table.size:
                return -1
            table[spot], first[found], previous = found, row, found
            found += 1
        place[row] = previous
    return found


#: most workloads have fewer shapes than half of this; others take a larger table
_TABLE = 1 << 14


def shapes_of(asks: Ints) -> tuple[Ints, Ints]:
    """Return the distinct requests as loops need them, and which of them each job makes.

    They are sorted by what they ask for, so that alike ones lie side by side, and hold what
    follows from a request (``ASK_HELD``), whether or not the jobs' rows do.
    """
    rows, shape_of = distinct_rows(asks)
    gpu = rows[:, ASK_GPUS] * rows[:, ASK_MILLI]
    order = np.lexsort((rows[:, ASK_MEMORY], rows[:, ASK_CPU], gpu))
    shapes = np.zeros((len(rows), ASK_COLUMNS), np.int64)
    shapes[:, : rows.shape[1]] = rows[order]
    shapes[:, ASK_HELD] = held_unit(shapes[:, ASK_GPUS], shapes[:, ASK_MILLI])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    # "clip" since "raise" would work on a copy
    return shapes, np.take(place, shape_of, out=shape_of, mode="clip")


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
    telling = np.array(varied, np.int64)
    place, size = np.empty(len(rows), np.int64), _TABLE
    while True:
        first = np.empty(size, np.int64)
        table = np.full(size, -1, np.int64)
        found = call(number_rows, rows, telling, place, first, table, work=len(rows))
        if found >= 0:
            return np.ascontiguousarray(rows[first[:found]]), place
        size *= 8
