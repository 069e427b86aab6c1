"""The order in which OPTICS visits jobs, and the distance at which it reaches each of them.

Without a largest distance every job is everyone's neighbour, so the visit is Prim's walk over
reachability distances: one sweep over the jobs left for every job visited. scikit-learn's general
version of it searches its neighbour tree at every step, which takes tens of times longer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from prophase.array_types import Floats, Ints
from prophase.profile.clusters.assigner import NORMS

#: visited rows are swept out when they are this share of the rows kept at hand
_SWEEP = 0.1


@dataclass(frozen=True)
class Visit:
    """Rows in the order of visit; per row the distance, from which other row, and the core."""

    order: Ints
    distance: Floats
    #: -1 for the row that the visit began with
    predecessor: Ints
    core: Floats


def visit(values: Floats, neighbours: int, *, metric: str = "euclidean") -> Visit:
    """Walk over all rows, always on to the one that is reached at the least distance.

    Parameters
    ----------
    neighbours : int
        The core distance is that to the neighbour of this number, the row itself counted.

    Examples
    --------
    >>> found = visit(np.array([[0.0], [9.0], [1.0], [8.0]]), 2)
    >>> found.order, found.distance
    (array([0, 2, 3, 1]), array([inf,  1.,  1.,  7.]))
    """
    count, norm = len(values), NORMS[metric]
    core = cKDTree(values).query(values, k=[neighbours], p=norm)[0][:, 0]
    distance, predecessor = np.full(count, np.inf), np.full(count, -1, dtype=np.int64)
    order = np.empty(count, dtype=np.int64)
    rows, left = np.arange(count), np.ascontiguousarray(values)
    reach, waiting = np.full(count, np.inf), np.ones(count, dtype=bool)
    place = 0
    for step in range(count):
        now = rows[place]
        order[step], waiting[place], reach[place] = now, False, np.inf
        if step == count - 1:
            break
        here = np.maximum(_apart(left, values[now], norm), core[now])
        nearer = (here < reach) & waiting
        # a visited row keeps the distance it was reached at
        near = rows[nearer]
        reach[nearer] = distance[near] = here[nearer]
        predecessor[near] = now
        if np.count_nonzero(~waiting) > _SWEEP * len(rows):
            rows, left, reach = rows[waiting], left[waiting], reach[waiting]
            waiting = np.ones(len(rows), dtype=bool)
        place = int(np.argmin(reach))
    return Visit(order, distance, predecessor, core)


def _apart(rows: Floats, one: Floats, norm: float) -> Floats:
    difference = rows - one
    if norm == 1.0:
        return np.asarray(np.abs(difference).sum(axis=1))
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", difference, difference)))
