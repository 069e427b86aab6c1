"""k-means: every job in one of a given number of round groups."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Floats
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.profile.clusters import library
from prophase.profile.clusters.clustering import Clustering, refuse_few_rows
from prophase.profile.clusters.quality import OUTLIERS


@dataclass(frozen=True)
class KMeans:
    """Groups around means, through scikit-learn."""

    #: number of profiles; k-means cannot find it out
    clusters: int = 26
    #: share of jobs farthest from their mean that become outliers
    reject_frac: float = 0.0
    random_state: int = 0
    name: str = "kmeans"
    metric: str = "euclidean"

    def settings(self) -> JsonObject:
        return asdict(self)

    def cluster(self, values: Floats, jobs: pd.DataFrame | None = None) -> Clustering:
        if self.clusters < 1 or not 0 <= self.reject_frac < 1:
            raise ParameterError(
                f"k-means: clusters is {self.clusters} and reject_frac {self.reject_frac}; take "
                "one cluster or more and a share from 0 to below 1."
            )
        refuse_few_rows(values, self.clusters, f"k-means with {self.clusters} clusters")
        different = min(self.clusters, len(np.unique(values, axis=0)))
        learner = library("sklearn.cluster").KMeans(
            different, n_init=4, random_state=self.random_state
        )
        apart = np.sort(np.asarray(learner.fit_transform(values), dtype=np.float64), axis=1)
        labels = learner.labels_.astype(np.int64)
        if different > 1:
            strength = 1.0 - apart[:, 0] / np.maximum(apart[:, 1], np.finfo(float).tiny)
        else:
            strength = np.ones(len(values))
        if self.reject_frac:
            far = apart[:, 0] > np.quantile(apart[:, 0], 1 - self.reject_frac)
            labels[far], strength[far] = OUTLIERS, 0.0
        notes: tuple[str, ...] = ()
        if different < self.clusters:
            notes = (f"There are only {different} different jobs, so as many profiles.",)
        return Clustering(labels, np.clip(strength, 0.0, 1.0), notes=notes)
