"""Is this behaviour that has been seen before? Distance to what was, and each metric's range."""

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
#: share of the steps from sample to sample that are usual
_USUAL = 0.95
#: share of a metric's range that it may go beyond it at most
_ROOM = 0.1
#: parts of a series that steady growth goes through
_QUARTERS = 4


@dataclass(frozen=True)
class Familiar:
    """Samples that were seen, and how far from them a series of the same kind may stray."""

    #: (n, metrics) Scaled samples
    seen: Floats
    #: samples farther than this from all of them are new
    limit: float
    #: (metrics,) and those below or above these, whatever the other metrics say
    low: Floats
    high: Floats

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.seen)

    def distances(self, values: Floats) -> Floats:
        """Return how far each sample is from the nearest one that was seen.

        A metric beyond all that was seen counts as at its end: how far it may go beyond is its own
        question, see `low` and `high`.
        """
        inside = np.clip(values, self.seen.min(axis=0), self.seen.max(axis=0))
        return np.asarray(self._tree.query(inside)[0])

    def is_new(self, values: Floats) -> NDArray[np.bool_]:
        """Say for each sample whether it is unlike all that were seen.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> known = remember([rng.normal(size=(200, 2)) for _ in range(5)])
        >>> known.is_new(np.array([[0.0, 0.0], [9.0, 9.0]])).tolist()
        [False, True]
        """
        outside = ((values < self.low) | (values > self.high)).any(axis=1)
        return np.asarray((self.distances(values) > self.limit) | outside)

    def joined(self, other: Familiar) -> Familiar:
        """Return what knows the samples of both, as far apart as this one."""
        return Familiar(
            np.concatenate([self.seen, other.seen]),
            self.limit,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


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
    limit, seen = max(limit, 0.05), np.concatenate(kept)
    if share < 1:
        # whatever was learned from is known, also where few samples are remembered
        every = np.concatenate(groups)
        seen = np.concatenate([seen, every[cKDTree(seen).query(every)[0] > limit]])
    return Familiar(seen, limit, *_range(series))


def _range(series: list[Floats]) -> tuple[Floats, Floats]:
    """Return the least and the largest value of each metric that is nothing new.

    Beyond what was seen there is as much room as one series went beyond all others, and as much as
    the metric jumps from sample to sample: CPU may be a little higher than ever, memory may not.
    What grows steadily in most series is known to grow, and may do so for as long as it was seen.
    """
    lows = np.array([one.min(axis=0) for one in series])
    highs = np.array([one.max(axis=0) for one in series])
    low, high = lows.min(axis=0), highs.max(axis=0)
    jumps = np.concatenate([np.abs(np.diff(one, axis=0)) for one in series])
    usual = np.quantile(jumps, _USUAL, axis=0) if len(jumps) else np.inf
    below = above = np.minimum(usual, _ROOM * (high - low))
    if len(series) > 1:
        below = np.maximum(below, np.sort(lows, axis=0)[1] - low)
        above = np.maximum(above, high - np.sort(highs, axis=0)[-2])
    growth = np.median([_growth(one) for one in series], axis=0)
    fall = np.median([_growth(-one) for one in series], axis=0)
    return low - np.maximum(below, fall), high + np.maximum(above, growth)


def _growth(values: Floats) -> Floats:
    """Return how much higher each metric gets in as many samples, if it has grown steadily.

    Its highest values must have risen from each quarter of the series to the next; one step, or a
    phase that comes late, is no growth.

    Examples
    --------
    >>> rising, stepped = np.arange(8.0), np.repeat([1.0, 9.0], 4)
    >>> _growth(np.column_stack([rising, stepped])).tolist()
    [8.0, 0.0]
    """
    if len(values) < _QUARTERS:
        return np.zeros(values.shape[1])
    peaks = np.array([part.max(axis=0) for part in np.array_split(values, _QUARTERS)])
    least: Floats = np.diff(peaks, axis=0).min(axis=0)
    return _QUARTERS * np.maximum(least, 0.0)
