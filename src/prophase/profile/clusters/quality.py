"""How well separated are groups? Silhouette and Davies-Bouldin, outliers apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.errors import ParameterError, not_among
from prophase.profile.clusters import library

OUTLIERS = -1
#: our word for a distance -> SciPy's
DISTANCES = {"euclidean": "euclidean", "manhattan": "cityblock", "cosine": "cosine"}
#: distances held at a time: 4 M numbers are 32 MB
_AT_A_TIME = 4_000_000


@dataclass(frozen=True)
class Silhouettes:
    """Silhouette of some or all clustered rows."""

    #: positions of the rows in the table
    rows: Ints
    values: Floats
    labels: Ints

    @property
    def mean(self) -> float:
        """Return the average; -1 if there are fewer than two groups, as the authors have it."""
        return float(self.values.mean()) if self.values.size else -1.0


def silhouettes(
    values: Floats,
    labels: Ints,
    *,
    metric: str = "euclidean",
    rows: int | None = None,
    random_state: int = 0,
) -> Silhouettes:
    """Return silhouettes of rows that are in a group; outliers take no part.

    Parameters
    ----------
    rows : int, optional
        Look at so many rows, drawn at random, each against **all** clustered rows: the mean
        stays unbiased. All rows if not given, which takes time with the square of their number.

    Examples
    --------
    >>> values = np.array([[0.0], [1.0], [10.0], [11.0], [99.0]])
    >>> silhouettes(values, np.array([0, 0, 1, 1, -1])).values.round(3)
    array([0.905, 0.895, 0.895, 0.905])
    """
    if metric not in DISTANCES:
        raise ParameterError(not_among(f"metric {metric!r} is unknown.", metric, DISTANCES))
    inside = np.flatnonzero(labels != OUTLIERS)
    groups, group, sizes = np.unique(labels[inside], return_inverse=True, return_counts=True)
    if len(groups) < 2:
        none = np.empty(0, dtype=np.int64)
        return Silhouettes(none, np.empty(0), none)
    by_group = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ordered = values[inside[by_group]]
    asked = np.arange(len(inside))
    if rows is not None and rows < len(inside):
        rng = np.random.default_rng(random_state)
        asked = np.sort(rng.choice(len(inside), rows, replace=False))
    found = np.empty(len(asked))
    step = max(1, _AT_A_TIME // len(inside))
    for first in range(0, len(asked), step):
        part = asked[first : first + step]
        from scipy.spatial.distance import cdist

        apart = cdist(values[inside[part]], ordered, DISTANCES[metric])
        if metric == "cosine":
            # a row of zeros has no direction: it is as far as an unrelated one
            np.nan_to_num(apart, copy=False, nan=1.0)
        sums = np.add.reduceat(apart, starts, axis=1)
        found[first : first + step] = _of_sums(sums, group[part], sizes)
    return Silhouettes(inside[asked], found, labels[inside[asked]].astype(np.int64))


def _of_sums(sums: Floats, own: Ints, sizes: Ints) -> Floats:
    """Rousseeuw (1987), from summed distances of rows to each group; 0 in a group of one."""
    here = np.arange(len(own))
    within = sums[here, own] / np.maximum(sizes[own] - 1, 1)
    means = sums / sizes
    means[here, own] = np.inf
    nearest = means.min(axis=1)
    larger = np.maximum(within, nearest)
    scores = np.divide(nearest - within, larger, out=np.zeros_like(larger), where=larger > 0)
    return np.where(sizes[own] > 1, scores, 0.0)


def davies_bouldin(values: Floats, labels: Ints, *, with_outliers: bool = True) -> float:
    """Return the Davies-Bouldin index, lower is better; NaN with fewer than two groups.

    Parameters
    ----------
    with_outliers : bool, default=True
        Count the outliers as one more group. The authors' results must have been made so: they
        give an index where there is only one cluster.
    """
    kept = np.ones(len(labels), dtype=bool) if with_outliers else labels != OUTLIERS
    groups = len(np.unique(labels[kept]))
    if groups < 2 or groups >= kept.sum():
        return float("nan")
    return float(library("sklearn.metrics").davies_bouldin_score(values[kept], labels[kept]))
