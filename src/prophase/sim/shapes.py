"""Shapes: the distinct requests of a workload."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.sim.signatures import Ints


def distinct_rows(rows: Ints) -> tuple[Ints, Ints]:
    """Return the different rows, and for each row the place of its like among them.

    Columns are numbered one after the other, which beats sorting whole rows five times over
    (``np.unique`` with an axis): most columns of a request have few values.

    Examples
    --------
    >>> shapes, shape_of = distinct_rows(np.array([[1, 2], [3, 4], [1, 2]]))
    >>> shapes.tolist(), shape_of.tolist()
    ([[1, 2], [3, 4]], [0, 1, 0])
    """
    place = np.zeros(len(rows), np.int64)
    for values in rows.T:
        if len(values) and values.min() != values.max():
            numbers = pd.factorize(values)[0]
            place = pd.factorize(place * (int(numbers.max()) + 1) + numbers)[0]
    first = np.zeros(int(place.max()) + 1 if len(place) else 0, np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    return rows[first], place.astype(np.int64)
