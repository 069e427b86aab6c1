"""Hopkins statistic: are there clusters at all?

Compares how far real jobs are from their nearest neighbour with how far random points in the
same box are. 0 means clustered, 0.5 random; the paper takes 0.3 and above as random. The
plain sum of distances is used, as in the library the paper took, not their d-th power.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from prophase.errors import InputError, ParameterError
from prophase.profile.clusters.usage_metrics import Floats

#: from here on the paper speaks of a random distribution
RANDOM_FROM = 0.3


@dataclass(frozen=True)
class Hopkins:
    """The statistic, and how far repeats with other random points lie apart."""

    statistic: float
    spread: float
    repeats: int
    points: int

    @property
    def clustered(self) -> bool:
        return self.statistic < RANDOM_FROM


def hopkins(
    values: Floats, *, points: int | None = None, repeats: int = 5, random_state: int = 0
) -> Hopkins:
    """Return the Hopkins statistic of values, (rows, columns), as the mean over repeats.

    Parameters
    ----------
    points : int, optional
        Rows and random points per repeat; a tenth of the rows, at most 1,000, if not given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> blobs = rng.normal(0, 0.01, (200, 2)) + rng.integers(0, 3, (200, 1))
    >>> hopkins(blobs).statistic < 0.1
    True
    """
    count = len(values)
    if count < 3:
        raise InputError(f"the Hopkins statistic needs 3 rows or more, and there are {count}.")
    points = points if points is not None else max(2, min(1000, count // 10))
    if not 1 <= points <= count or repeats < 1:
        raise ParameterError(
            f"hopkins: points is {points} and repeats {repeats}; take 1 to {count} points and "
            "one repeat or more."
        )
    rng = np.random.default_rng(random_state)
    tree = cKDTree(values)
    low, high = values.min(axis=0), values.max(axis=0)
    found = []
    for _ in range(repeats):
        rows = rng.choice(count, points, replace=False)
        anywhere = rng.uniform(low, high, (points, values.shape[1]))
        real = tree.query(values[rows], k=2)[0][:, 1].sum()
        random = tree.query(anywhere, k=1)[0].sum()
        total = real + random
        # all rows the same: nothing lies apart, which is as clustered as can be
        found.append(real / total if total else 0.0)
    return Hopkins(float(np.mean(found)), float(np.ptp(found)), repeats, points)
