"""Quantiles of a stream that is not kept: a sketch (Dunning and Ertl's t-digest).

Values are kept sorted and, beyond a cap, merged with their neighbours: finely near both ends,
coarsely in the middle. Count, mean, standard deviation, least and largest stay exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: values kept as they are; beyond, about a third as many groups
EXACT = 3_000
_GROUPS = 1_000


class Sketch:
    """Distribution of the values seen so far.

    Examples
    --------
    >>> sketch = Sketch()
    >>> for part in np.split(np.arange(10_000.0), 100):
    ...     sketch.add(part)
    >>> sketch.count, float(sketch.mean), bool(abs(sketch.quantile(0.99) - 9899) < 10)
    (10000, 4999.5, True)
    """

    def __init__(self) -> None:
        self.values = np.empty(0)
        self.weights = np.empty(0)
        self.count = 0
        self.mean = 0.0
        #: sum of squared distances to the mean
        self.scatter = 0.0
        self.least = np.inf
        self.largest = -np.inf

    @property
    def std(self) -> float:
        """Sample standard deviation; 0 of a single value."""
        return float(np.sqrt(self.scatter / (self.count - 1))) if self.count > 1 else 0.0

    def add(self, values: Floats) -> None:
        """Take further values; all are finite."""
        if not len(values):
            return
        self._add_moments(len(values), float(values.mean()), float(values.var() * len(values)))
        self.least = min(self.least, float(values.min()))
        self.largest = max(self.largest, float(values.max()))
        self._put(values, np.ones(len(values)))

    def quantile(self, share: float) -> float:
        """Return the value that this share of all stays below; exact up to the cap."""
        if self.count == len(self.values):
            return float(np.quantile(self.values, share))
        middle = np.cumsum(self.weights) - 0.5 * self.weights
        places = np.concatenate([[0.0], middle, [float(self.count)]])
        held = np.concatenate([[self.least], self.values, [self.largest]])
        return float(np.interp(share * self.count, places, held))

    def below(self, edges: Floats) -> Floats:
        """Return how many values lie below each edge."""
        if self.count == len(self.values):
            return np.searchsorted(self.values, edges, side="left").astype(np.float64)
        middle = np.cumsum(self.weights) - 0.5 * self.weights
        places = np.concatenate([[0.0], middle, [float(self.count)]])
        held = np.concatenate([[self.least], self.values, [self.largest]])
        return np.asarray(np.interp(edges, held, places))

    def _add_moments(self, count: int, mean: float, scatter: float) -> None:
        # Chan et al. (1983): means and squares of two parts
        apart = mean - self.mean
        total = self.count + count
        self.scatter += scatter + apart**2 * self.count * count / total
        self.mean += apart * count / total
        self.count = total

    def _put(self, values: Floats, weights: Floats) -> None:
        both = np.concatenate([self.values, values])
        order = np.argsort(both, kind="stable")
        self.values = both[order]
        self.weights = np.concatenate([self.weights, weights])[order]
        if len(self.values) > EXACT:
            share = (np.cumsum(self.weights) - 0.5 * self.weights) / self.weights.sum()
            group = (_GROUPS * np.arcsin(2.0 * share - 1.0) / np.pi).astype(np.int64)
            group -= group.min()
            mass = np.bincount(group, self.weights).astype(np.float64)
            sums = np.bincount(group, self.weights * self.values).astype(np.float64)
            held = mass > 0
            self.values, self.weights = sums[held] / mass[held], mass[held]
