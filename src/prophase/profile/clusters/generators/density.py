"""Density-based generators: HDBSCAN and OPTICS, the two of the paper."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Array, Floats, Ints
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.profile.clusters import library
from prophase.profile.clusters.assigner import NORMS, learn_assigner
from prophase.profile.clusters.clustering import (
    Clustering,
    CondensedTree,
    Reachability,
    refuse_few_rows,
)
from prophase.profile.clusters.generators.optics_order import visit
from prophase.profile.clusters.generators.spanning_tree import single_linkage


@dataclass(frozen=True)
class Hdbscan:
    """Groups of any density (Campello et al. 2013), through the ``hdbscan`` library."""

    #: fewest jobs of a profile; 300 is the paper's choice for 100,001 rows
    min_cluster_size: int = 300
    #: neighbours that make a place dense. The paper leaves it at ``min_cluster_size``; a small
    #: number such as 10 leaves fewer outliers, and needs half the time and a third of the memory
    #: at 100,001 rows
    min_samples: int | None = None
    #: euclidean or manhattan
    metric: str = "euclidean"
    #: take the true spanning tree. The library's own default, and so the paper's, is an
    #: approximation that is hardly faster and can merge or lose profiles: 14 in place of 15 on
    #: 10,000 synthetic rows, where scikit-learn and fast_hdbscan agree with the exact one
    exact: bool = True
    #: for the distances to neighbours; the result is the same
    processes: int = 1
    name: str = "hdbscan"

    def settings(self) -> JsonObject:
        return asdict(self)

    def cluster(self, values: Floats, jobs: pd.DataFrame | None = None) -> Clustering:
        _check(self.min_cluster_size, self.metric)
        least = max(self.min_cluster_size, (self.min_samples or self.min_cluster_size) + 1)
        refuse_few_rows(values, least, f"HDBSCAN with min_cluster_size={self.min_cluster_size}")
        neighbours = self.min_samples or self.min_cluster_size
        linkage = single_linkage(
            values, neighbours, metric=self.metric, exact=self.exact, processes=self.processes
        )
        with warnings.catch_warnings():
            # hdbscan 0.8 calls scikit-learn by names that newer versions rename
            warnings.simplefilter("ignore", FutureWarning)
            cut = library("hdbscan.hdbscan_")._tree_to_labels
            labels, strength, _, tree, _ = cut(values, linkage, self.min_cluster_size)
        return Clustering(
            labels.astype(np.int64),
            np.asarray(strength, dtype=np.float64),
            tree=_condensed(tree, labels),
        )


def _condensed(raw: Array, labels: Ints) -> CondensedTree:
    chosen = library("hdbscan.plots").CondensedTree(raw, labels)._select_clusters()
    profile_of = {int(node): number for number, node in enumerate(sorted(chosen))}
    return CondensedTree(
        raw["parent"].astype(np.int64),
        raw["child"].astype(np.int64),
        raw["lambda_val"].astype(np.float64),
        raw["child_size"].astype(np.int64),
        profile_of,
    )


@dataclass(frozen=True)
class Optics:
    """Groups by reachability (Ankerst et al. 1999), cut as scikit-learn does.

    Its time grows with the square of the rows. Beyond ``most_rows`` it learns
    from a sample, gives each other row the group of its nearest sampled row within reach, and
    says so in the notes. The least size of a group shrinks with the sample.
    """

    #: fewest jobs of a profile, and the neighbours that make a place dense, as in the paper
    min_cluster_size: int = 300
    metric: str = "euclidean"
    #: rows it looks at
    most_rows: int = 10_000
    random_state: int = 0
    name: str = "optics"

    def settings(self) -> JsonObject:
        return asdict(self)

    def cluster(self, values: Floats, jobs: pd.DataFrame | None = None) -> Clustering:
        _check(self.min_cluster_size, self.metric)
        refuse_few_rows(
            values, self.min_cluster_size, f"OPTICS with min_cluster_size={self.min_cluster_size}"
        )
        if len(values) <= self.most_rows:
            return self._whole(values, self.min_cluster_size)
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.choice(len(values), self.most_rows, replace=False))
        size = max(2, round(self.min_cluster_size * self.most_rows / len(values)))
        sampled = self._whole(values[rows], size)
        assigner = learn_assigner(
            values[rows], sampled.labels, metric=self.metric, members=self.most_rows
        )
        rest = assigner.assign(values)
        labels, strength = rest.labels, rest.strength
        labels[rows], strength[rows] = sampled.labels, sampled.strength
        reached = sampled.reachability
        assert reached is not None
        note = (
            f"OPTICS looked at a sample of {counted(self.most_rows, 'job')} of {len(values):,} "
            f"with at least {size} jobs to a profile in place of {self.min_cluster_size}; the "
            "others joined the profile of their nearest sampled job within its reach."
        )
        return Clustering(
            labels,
            strength,
            reachability=Reachability(rows[reached.order], reached.distance),
            notes=(note,),
        )

    def _whole(self, values: Floats, size: int) -> Clustering:
        found = visit(values, size, metric=self.metric)
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            # equal jobs reach each other at distance 0, by which a steepness is divided
            warnings.simplefilter("ignore", RuntimeWarning)
            labels, _ = library("sklearn.cluster").cluster_optics_xi(
                reachability=found.distance,
                predecessor=found.predecessor,
                ordering=found.order,
                min_samples=size,
                min_cluster_size=size,
            )
        labels = labels.astype(np.int64)
        return Clustering(
            labels,
            _by_reachability(labels, np.minimum(found.distance, found.core)),
            reachability=Reachability(found.order, found.distance[found.order]),
        )


def _by_reachability(labels: Ints, distance: Floats) -> Floats:
    """1 at the densest job of a group, falling to 0 with its distance; 0 for outliers."""
    strength = np.zeros(len(labels))
    for group in np.unique(labels[labels >= 0]):
        rows = labels == group
        within = distance[rows]
        strength[rows] = 1.0 if not within.max() else (1.0 - (within - within.min()) / within.max())
    return strength


def _check(min_cluster_size: int, metric: str) -> None:
    if min_cluster_size < 2:
        raise ParameterError(f"min_cluster_size is {min_cluster_size}; take 2 or more.")
    if metric not in NORMS:
        raise ParameterError(f"metric is {metric!r}; choose euclidean or manhattan.")
