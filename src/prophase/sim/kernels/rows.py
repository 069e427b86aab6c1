"""Number the distinct rows of a matrix."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.kernels.compiling import LOOP
from prophase.sim.signatures import INT, INT_LINE, Ints

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
