"""Profiles that a person can name: jobs are split where a resource passes a fixed amount.

The tree begins with all jobs and splits, again and again, the group and the metric that leave the
groups most alike inside. It may only split at fixed amounts, a factor of four apart (1,024 for
bytes and counts), which do not hang on single jobs: with another tenth of jobs, or another sample,
most groups stay as they are. The amounts lie between round ones, since many jobs use about 1, 4 or
16 of something. A group below 1 % of the jobs has to take away as much more as it is smaller: a
bound that allows a group of 43 jobs and refuses one of 42 would flip with few jobs. Every job
belongs to one group.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Bools, Floats, Ints
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.profile.clusters.clustering import Clustering, refuse_few_rows
from prophase.profile.clusters.usage_metrics import UsageFeatures, usage_features

#: a group of so many jobs counts fully, whatever its share; one of fewer than that is refused
_LEAST_JOBS, _FEWEST = 15, 5
#: a cut farther out than this share of the jobs parts nothing
_EDGE = 0.001
#: between 1 and 4 of everything, and four times as much again
_BETWEEN = 1.4
_PERCENTAGES = (0.0, 7.0, 15.0, 35.0, 60.0, 85.0, 140.0, 280.0)


@dataclass(frozen=True)
class UsageTree:
    """Groups by amounts of what jobs use and request; the default of ``profile fit``."""

    #: most profiles
    clusters: int = 16
    #: fewest jobs of a profile. If not given, a smaller one than 1 % of the jobs, or 15, has to
    #: take away as much more as it is smaller, and none is below 5
    min_cluster_size: int | None = None
    #: a split must take away this share of all differences between jobs
    least_gain: float = 0.01
    name: str = "tree"
    metric: str = "euclidean"

    def settings(self) -> JsonObject:
        return asdict(self)

    def cluster(self, values: Floats, jobs: pd.DataFrame | None = None) -> Clustering:
        """Return a group per job, the largest first."""
        if self.clusters < 1 or not 0 <= self.least_gain < 1:
            raise ParameterError(
                f"tree: clusters is {self.clusters} and least_gain {self.least_gain}; take one "
                "profile or more, and a share from 0 to below 1."
            )
        if jobs is None:
            raise ParameterError("tree: splits at amounts of the job table, so it needs the jobs.")
        least = self.min_cluster_size or max(_LEAST_JOBS, math.ceil(0.01 * len(values)))
        refuse_few_rows(values, least, "a tree of profiles")
        features = usage_features(jobs, leaking=False)
        fewest = self.min_cluster_size or _FEWEST
        groups = self._grown(values, _Cuts(_sides(features), least, fewest))
        groups.sort(key=lambda rows: (-len(rows), int(rows[0])))
        labels = np.zeros(len(values), dtype=np.int64)
        for number, rows in enumerate(groups):
            labels[rows] = number
        return Clustering(labels, _strength(values, labels, len(groups)))

    def _grown(self, values: Floats, cuts: _Cuts) -> list[Ints]:
        """Split the group that gains most, until none gains enough."""
        groups = [np.arange(len(values))]
        best = [cuts.best(values, groups[0])]
        enough = self.least_gain * float(((values - values.mean(axis=0)) ** 2).sum())
        while len(groups) < self.clusters:
            chosen = int(np.argmax([gain for gain, _ in best]))
            gain, cut = best[chosen]
            if gain <= enough:
                break
            rows = groups[chosen]
            above = cuts.sides[cut, rows]
            groups[chosen : chosen + 1] = [rows[~above], rows[above]]
            best[chosen : chosen + 1] = [
                cuts.best(values, part) for part in groups[chosen : chosen + 2]
            ]
        return groups


def _sides(features: UsageFeatures) -> Bools:
    """Return, for every cut of every metric, which jobs lie above it: (cuts, jobs)."""
    sides = [
        column > cut
        for name, column in zip(features.columns, features.values.T, strict=True)
        for cut in amounts_between(name, column)
    ]
    return np.array(sides, dtype=np.bool_).reshape(len(sides), len(features.values))


def amounts_between(metric: str, values: Floats) -> list[float]:
    """Return the amounts at which jobs may be told apart by a metric.

    Examples
    --------
    >>> amounts_between("memory_peak_gib", np.array([0.0, 0.5, 3.0, 9.0, 40.0]))
    [0.35, 1.4, 5.6, 22.4]
    """
    positive = values[values > 0]
    if not positive.size:
        return []
    low, high = (float(one) for one in np.quantile(values, [_EDGE, 1 - _EDGE]))
    if metric.endswith("_pct"):
        cuts = list(_PERCENTAGES)
    else:
        step = 4.0 if not metric.endswith(("_bytes", "_count")) else 1024.0
        first, last = (math.floor(math.log(end, step)) for end in (positive.min(), positive.max()))
        cuts = [0.0, *(_BETWEEN * step**power for power in range(first, last + 1))]
    return [cut for cut in cuts if low <= cut < high]


@dataclass(frozen=True)
class _Cuts:
    """All cuts, the jobs of a group that counts fully, and the fewest that one may have."""

    #: (cuts, jobs)
    sides: Bools
    least: int
    fewest: int

    def best(self, values: Floats, rows: Ints) -> tuple[float, int]:
        """Return what the best cut takes from the squared differences of a group, and its number.

        What a cut takes away counts less the smaller its smaller side is, below the least size.
        """
        held = values[rows]
        held = held - held.mean(axis=0)
        above = self.sides[:, rows]
        count = above.sum(axis=1)
        smaller = np.minimum(count, len(rows) - count)
        allowed = np.flatnonzero(smaller >= self.fewest)
        if not allowed.size:
            return 0.0, -1
        # between the two sides: n / (n - n_above) * |sum above|^2 / n_above, the means being 0
        sums = np.array([held[side].sum(axis=0) for side in above[allowed]])
        count = count[allowed]
        gain = (sums**2).sum(axis=1) * len(rows) / (count * (len(rows) - count))
        gain *= np.minimum(1.0, smaller[allowed] / self.least)
        best = int(np.argmax(gain))
        return float(gain[best]), int(allowed[best])


def _strength(values: Floats, labels: Ints, groups: int) -> Floats:
    """Say how much nearer a job is to the middle of its group than to the next one's."""
    if groups < 2:
        return np.ones(len(values))
    middles = np.array([values[labels == group].mean(axis=0) for group in range(groups)])
    apart = np.column_stack([np.linalg.norm(values - middle, axis=1) for middle in middles])
    own = apart[np.arange(len(values)), labels]
    apart[np.arange(len(values)), labels] = np.inf
    strength: Floats = 1.0 - own / np.maximum(apart.min(axis=1), np.finfo(float).tiny)
    return np.clip(strength, 0.0, 1.0)
