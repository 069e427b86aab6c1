"""What every generator of profiles returns: a group per job, and how firmly it belongs there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pandas as pd

from prophase.array_types import Floats, Ints
from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.profile.clusters.quality import OUTLIERS, Silhouettes, davies_bouldin


@dataclass(frozen=True)
class CondensedTree:
    """How groups split as density grows (HDBSCAN): one entry per parent and child.

    Children below the number of jobs are jobs, the others groups; ``density`` is 1 / distance
    at which the child left its parent.
    """

    parent: Ints
    child: Ints
    density: Floats
    size: Ints
    #: node of the tree -> profile, for the groups that became one
    profile_of: Mapping[int, int]

    def groups(self) -> pd.DataFrame:
        """Return the groups alone: what is drawn as a tree."""
        jobs = int(self.parent.min()) if self.parent.size else 0
        inner = self.child >= jobs
        table = pd.DataFrame(
            {
                "parent": self.parent[inner],
                "child": self.child[inner],
                "density": self.density[inner],
                "jobs": self.size[inner],
            }
        )
        table["profile"] = table["child"].map(self.profile_of).astype("Int64")
        return table

    def spans(self, steps: int = 40) -> pd.DataFrame:
        """Return every group from birth to death, and how many jobs it holds on the way.

        One row per group, the root first: ``node``, ``parent``, ``jobs`` at birth, ``birth`` and
        ``death`` as densities, ``profile`` if it became one, and two lists of the same length,
        ``densities`` and the jobs ``left_over`` there, at most ``steps`` of them.
        """
        if not self.parent.size:
            return pd.DataFrame(columns=["node", "parent", "jobs", "birth", "death", "profile"])
        jobs = int(self.parent.min())
        # equal jobs are infinitely dense: they are drawn a little above the densest others
        finite = self.density[np.isfinite(self.density)]
        top = 1.05 * float(finite.max()) if finite.size else 1.0
        density = np.where(np.isfinite(self.density), self.density, top)
        born = {jobs: (0.0, jobs, -1)}
        for parent, child, at, size in zip(
            self.parent, self.child, density, self.size, strict=True
        ):
            if child >= jobs:
                born[int(child)] = (float(at), int(size), int(parent))
        order = np.argsort(self.parent, kind="stable")
        groups, starts = np.unique(self.parent[order], return_index=True)
        leaving = dict(zip(groups.tolist(), np.split(order, starts[1:]), strict=True))
        rows = []
        for node, (birth, size, parent) in born.items():
            held = leaving[node]
            held = held[np.argsort(density[held], kind="stable")]
            left = size - np.cumsum(self.size[held])
            marks = np.unique(np.linspace(0, len(held) - 1, min(steps, len(held))).astype(int))
            rows.append(
                {
                    "node": node,
                    "parent": parent,
                    "jobs": size,
                    "birth": birth,
                    "death": float(density[held].max()),
                    "profile": self.profile_of.get(node, pd.NA),
                    "densities": [birth, *density[held][marks].tolist()],
                    "left_over": [size, *left[marks].tolist()],
                }
            )
        return pd.DataFrame(rows)


@dataclass(frozen=True)
class Reachability:
    """The reachability plot of OPTICS: jobs in the order of visit, and their distance."""

    #: positions of the jobs in the table
    order: Ints
    #: distance at which each of them, in that order, was reached; infinite at a new start
    distance: Floats


@dataclass(frozen=True)
class Clustering:
    """A group per job (-1 = outlier) with the strength of membership, 0 to 1."""

    labels: Ints
    strength: Floats
    tree: CondensedTree | None = None
    reachability: Reachability | None = None
    #: what a reader of the result has to know, one sentence each
    notes: tuple[str, ...] = ()
    #: values that distances were taken in, if the generator made its own
    codes: Floats | None = field(default=None, repr=False)
    #: group -> its name, if the generator knows one
    names: Mapping[int, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Return the number of groups, outliers apart."""
        return len(np.unique(self.labels[self.labels != OUTLIERS]))

    @property
    def outliers(self) -> int:
        return int((self.labels == OUTLIERS).sum())

    def without_weak(self, below: float) -> Clustering:
        """Return the same groups, jobs that belong less firmly than ``below`` made outliers."""
        weak = (self.strength < below) & (self.labels != OUTLIERS)
        if not weak.any():
            return self
        note = f"{counted(int(weak.sum()), 'job')} of a strength below {below:g} became outliers."
        return replace(
            self,
            labels=np.where(weak, OUTLIERS, self.labels),
            strength=np.where(weak, 0.0, self.strength),
            notes=(*self.notes, note),
        )


class Generator(Protocol):
    """Makes groups of jobs from their transformed usage metrics."""

    @property
    def name(self) -> str:
        """Word by which it is asked for."""

    @property
    def metric(self) -> str:
        """Distance by which its groups are judged: euclidean or manhattan."""

    def settings(self) -> JsonObject:
        """Return what JSON can hold of its settings."""

    def cluster(self, values: Floats, jobs: pd.DataFrame | None = None) -> Clustering:
        """Return a group per row of values; ``jobs`` holds the metadata of the same rows."""


def refuse_few_rows(values: Floats, least: int, what: str) -> None:
    """Refuse data that cannot hold a single group."""
    if len(values) < least:
        raise InputError(
            f"{what} needs at least {least} jobs and there are {len(values)}. Take a longer "
            "history, or a smaller least size of a profile."
        )


def cluster_statistics(values: Floats, found: Clustering, scores: Silhouettes) -> dict[str, object]:
    """Return the statistics of the paper's Table IV for one clustering.

    ``silhouette`` is the mean without outliers, -1 with fewer than two clusters;
    ``davies_bouldin`` counts the outliers as a group, as the authors' numbers do, and
    ``davies_bouldin_clustered`` leaves them out. What has no value is None.
    """
    inside = len(found.labels) - found.outliers
    return {
        "n_outliers": found.outliers,
        "n_clusters": found.count,
        "mean_cluster_size": inside / found.count if found.count else None,
        "silhouette": scores.mean,
        "davies_bouldin": finite(davies_bouldin(values, found.labels)),
        "davies_bouldin_clustered": finite(
            davies_bouldin(values, found.labels, with_outliers=False)
        ),
        "n_jobs": len(found.labels),
        "silhouette_rows": len(scores.rows),
    }
