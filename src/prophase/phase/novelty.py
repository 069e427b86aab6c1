"""Is this behaviour that has been seen before? Distance to the nearest sample that was."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from prophase.trace.series.usage_series import Floats

#: samples that are remembered at most
MOST_SAMPLES = 4_000
#: groups of series, each judged by the others, that the limit is learned from
_FOLDS = 20
#: share of the samples of a series of known kind that may be called new
ALLOWED = 0.01


@dataclass(frozen=True)
class Familiar:
    """Samples that were seen, and how far from them a series of the same kind may stray."""

    #: (n, metrics) Scaled samples
    seen: Floats
    #: samples farther than this from all of them are new
    limit: float

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.seen)

    def distances(self, values: Floats) -> Floats:
        """Return how far each sample is from the nearest one that was seen."""
        return np.asarray(self._tree.query(values)[0])

    def is_new(self, values: Floats) -> NDArray[np.bool_]:
        """Say for each sample whether it is unlike all that were seen.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> known = remember([rng.normal(size=(200, 2)) for _ in range(5)])
        >>> known.is_new(np.array([[0.0, 0.0], [9.0, 9.0]])).tolist()
        [False, True]
        """
        return np.asarray(self.distances(values) > self.limit)


def remember(series: list[Floats], *, random_state: int = 0, allowed: float = ALLOWED) -> Familiar:
    """Remember the samples of series, and learn how far one series is from the others.

    With a single series, its parts are judged by each other.

    Parameters
    ----------
    series : list of arrays (n, metrics)
        Scaled values, one array per series.
    allowed : float, default=0.01
        Share of samples of a further series of the same kind that may be called new.
    """
    rng = np.random.default_rng(random_state)
    groups = series if len(series) > 1 else np.array_split(series[0], min(4, len(series[0])))
    total = sum(map(len, groups))
    share = min(1.0, MOST_SAMPLES / total)
    kept = [
        one[np.sort(rng.choice(len(one), max(1, round(share * len(one))), replace=False))]
        for one in groups
    ]
    fold = rng.permutation(len(kept)) % min(_FOLDS, len(kept))
    distances = []
    for number in np.unique(fold):
        others = [one for one, where in zip(kept, fold, strict=True) if where != number]
        own = [one for one, where in zip(kept, fold, strict=True) if where == number]
        if others:
            distances.append(cKDTree(np.concatenate(others)).query(np.concatenate(own))[0])
    limit = float(np.quantile(np.concatenate(distances), 1 - allowed)) if distances else 0.0
    # samples that repeat exactly leave no room at all for a metric's own noise
    return Familiar(np.concatenate(kept), max(limit, 0.05))
