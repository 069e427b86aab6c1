"""Profiles from a few labelled jobs: labels spread to neighbours with similar usage."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Floats
from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.profile.clusters import library
from prophase.profile.clusters.clustering import Clustering
from prophase.profile.clusters.quality import OUTLIERS


@dataclass(frozen=True)
class SemiSupervised:
    """Spread the labels of some jobs over the neighbour graph (Zhou et al. 2004)."""

    #: column of the job table with the labels; missing where nobody has labelled
    column: str
    #: jobs that each job is linked with
    neighbours: int = 10
    #: a job whose best label has a smaller share than this becomes an outlier
    reject_below: float = 0.5
    name: str = "semi-supervised"
    metric: str = "euclidean"

    def settings(self) -> JsonObject:
        return asdict(self)

    def cluster(self, values: Floats, jobs: pd.DataFrame | None = None) -> Clustering:
        if self.neighbours < 1 or not 0 <= self.reject_below <= 1:
            raise ParameterError(
                f"semi-supervised: neighbours is {self.neighbours} and reject_below "
                f"{self.reject_below}; take one neighbour or more and a share from 0 to 1."
            )
        if jobs is None or self.column not in jobs:
            raise MissingColumnError(
                f"semi-supervised profiles need labels of some jobs in the column {self.column!r}."
            )
        codes, words = pd.factorize(jobs[self.column], sort=True)
        if len(words) < 2:
            raise InputError(
                f"column {self.column!r} has {counted(len(words), 'label')}; profiles are told "
                "apart from two labels on. Label a few jobs of another kind."
            )
        learner = library("sklearn.semi_supervised").LabelSpreading(
            kernel="knn", n_neighbors=min(self.neighbours, len(values) - 1), max_iter=200
        )
        with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
            # a part of the graph without any label divides 0 by 0; it is rejected below
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", library("sklearn.exceptions").ConvergenceWarning)
            learner.fit(values, codes)
        shares = np.nan_to_num(np.asarray(learner.label_distributions_, dtype=np.float64))
        best = shares.max(axis=1)
        labels = np.where(best >= self.reject_below, shares.argmax(axis=1), OUTLIERS)
        labels = np.where(best > 0, labels, OUTLIERS)
        note = f"{counted(int((codes >= 0).sum()), 'job')} of {len(jobs):,} came with a label."
        return Clustering(
            labels.astype(np.int64),
            np.where(labels != OUTLIERS, best, 0.0),
            notes=(note,),
            names={number: str(word) for number, word in enumerate(words)},
        )
