"""k-means with a careful start: the same seed gives the same centres on every machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.errors import InputError, ParameterError
from prophase.trace.series.usage_series import Floats, Ints

#: rows that centres are learned from at most; more change nothing but the time it takes
MOST_ROWS = 50_000


@dataclass(frozen=True)
class Centres:
    """Where the groups are, and how tight they were."""

    #: (groups, features)
    places: Floats
    #: mean squared distance of a row to its centre
    inertia: float


def kmeans(
    rows: Floats,
    groups: int,
    *,
    random_state: int = 0,
    starts: int = 4,
    most_rounds: int = 100,
) -> Centres:
    """Return centres that rows are near to: the best of several starts.

    Parameters
    ----------
    rows : array (n, features)
        What is grouped. From more than 50,000 rows a sample is drawn.
    groups : int
        Number of centres; not more than there are different rows.

    Examples
    --------
    >>> found = kmeans(np.array([[0.0], [0.2], [9.8], [10.0]]), 2)
    >>> sorted(found.places.ravel().round(3).tolist())
    [0.1, 9.9]
    """
    if groups < 1:
        raise ParameterError(f"k-means needs one group or more, and got {groups}.")
    rng = np.random.default_rng(random_state)
    if len(rows) > MOST_ROWS:
        rows = rows[np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))]
    different = len(np.unique(rows[: 10 * MOST_ROWS], axis=0))
    if different < groups:
        raise InputError(
            f"{groups} groups were asked for, and there are only {different} different rows. "
            "Ask for fewer, or take more samples."
        )
    tried = [_rounds(rows, _spread_out(rows, groups, rng), most_rounds) for _ in range(starts)]
    best = min(tried, key=lambda found: found.inertia)
    # by the first feature and on, so that the numbers of the groups mean the same in every run
    return Centres(best.places[np.lexsort(best.places.T[::-1])], best.inertia)


def nearest(rows: Floats, places: Floats) -> Ints:
    """Return the number of the nearest centre of each row."""
    # the row's own length is the same for all centres
    return np.asarray(np.argmin((places**2).sum(axis=1) - 2.0 * (rows @ places.T), axis=1))


def squared_distances(rows: Floats, places: Floats) -> Floats:
    """Return the squared distance of each row to each centre, (rows, centres)."""
    found = (rows**2).sum(axis=1)[:, None] + (places**2).sum(axis=1) - 2.0 * (rows @ places.T)
    return np.asarray(np.maximum(found, 0.0))


def _spread_out(rows: Floats, groups: int, rng: np.random.Generator) -> Floats:
    """k-means++ (Arthur and Vassilvitskii 2007): a next centre far from those already there."""
    places = [rows[rng.integers(len(rows))]]
    distance = ((rows - places[0]) ** 2).sum(axis=1)
    for _ in range(groups - 1):
        total = distance.sum()
        if total <= 0:
            places.append(rows[rng.integers(len(rows))])
            continue
        places.append(rows[np.searchsorted(np.cumsum(distance), rng.random() * total)])
        distance = np.minimum(distance, ((rows - places[-1]) ** 2).sum(axis=1))
    return np.array(places)


def _rounds(rows: Floats, places: Floats, most: int) -> Centres:
    labels = nearest(rows, places)
    for _ in range(most):
        counts = np.bincount(labels, minlength=len(places))
        sums = np.array([np.bincount(labels, column, minlength=len(places)) for column in rows.T]).T
        places = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], places)
        if (counts == 0).any():
            # a centre that has lost its rows takes the row farthest from any
            far = np.argsort(squared_distances(rows, places).min(axis=1))[::-1]
            lost = np.flatnonzero(counts == 0)
            places[lost] = rows[far[: len(lost)]]
        moved = nearest(rows, places)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return Centres(places, float(squared_distances(rows, places).min(axis=1).mean()))
