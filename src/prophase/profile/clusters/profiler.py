"""WorkloadProfiler: learn profiles from a job table, assign further jobs, save and load."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from prophase.errors import (
    InputError,
    MissingColumnError,
    ModelFileError,
    ParameterError,
    not_among,
)
from prophase.modelfile import load_model, save_model
from prophase.plural import counted
from prophase.profile.clusters.assigning import Assigner, Assignment, learn_assigner
from prophase.profile.clusters.clustering import Clustering, CondensedTree, Generator
from prophase.profile.clusters.features import usage_features
from prophase.profile.clusters.generators.naming import default_generator
from prophase.profile.clusters.grid.running import cluster_statistics, content_hash
from prophase.profile.clusters.profiles import (
    Profile,
    describe_profiles,
    metadata_columns,
    profile_from_dict,
)
from prophase.profile.clusters.quality import OUTLIERS, silhouettes
from prophase.profile.clusters.transforms import Transform, fit_transform

KIND = "profile.clusters"


class WorkloadProfiler:
    """Group jobs by how they use resources.

    Parameters
    ----------
    generator : Generator, optional
        What makes the groups. HDBSCAN with 10 neighbours if not given, with a least size of
        0.3 % of the jobs, as in the paper, and never below 15.
    transform : str, default="power"
        How metrics are brought to one scale; see ``transforms``.
    leaking : bool, default=False
        Let start, end and duration take part, as the paper does. They describe when and how
        long a job ran, which is what profiles are to predict.
    members : int, default=500
        Jobs per profile that are remembered to assign others.
    silhouette_rows : int, optional, default=5000
        Rows whose silhouette is taken.

    Attributes
    ----------
    labels_ : array
        Profile of every job it was fitted on; -1 for outliers.
    strength_ : array
        How firmly each job belongs to its profile, 0 to 1.
    profiles_ : list of Profile
        Outliers first, then by number.
    statistics_ : dict
        Number of clusters and outliers, silhouette and Davies-Bouldin index.
    notes_ : tuple of str
        What a reader of the result has to know.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> jobs = pd.DataFrame({"cpu_mean_cores": np.repeat([1.0, 8.0], 50) + rng.normal(0, 0.1, 100)})
    >>> jobs["memory_peak_gib"] = np.repeat([2.0, 64.0], 50) + rng.normal(0, 0.1, 100)
    >>> profiler = WorkloadProfiler().fit(jobs)
    >>> [(one.profile, one.n) for one in profiler.profiles_ if not one.outliers]
    [(0, 50), (1, 50)]
    """

    def __init__(
        self,
        generator: Generator | None = None,
        *,
        transform: str = "power",
        leaking: bool = False,
        members: int = 500,
        silhouette_rows: int | None = 5_000,
        random_state: int = 0,
    ) -> None:
        self.generator = generator
        self.transform = transform
        self.leaking = leaking
        self.members = members
        self.silhouette_rows = silhouette_rows
        self.random_state = random_state

    def fit(self, jobs: pd.DataFrame, y: None = None) -> Self:
        """Learn profiles from a job table."""
        if self.members < 1:
            raise ParameterError(f"members is {self.members}; remember one job or more.")
        features = usage_features(jobs, leaking=self.leaking)
        generator = self.generator or default_generator(len(jobs))
        self.transform_ = fit_transform(self.transform, features.values)
        values = self.transform_(features.values)
        found = generator.cluster(values, jobs)
        scores = silhouettes(
            values,
            found.labels,
            metric=generator.metric,
            rows=self.silhouette_rows,
            random_state=self.random_state,
        )
        self.columns_ = features.columns
        self.labels_, self.strength_, self.tree_ = found.labels, found.strength, found.tree
        self.scores_ = scores
        self.statistics_ = cluster_statistics(values, found, scores)
        self.generator_settings_ = generator.settings()
        metrics = [n for n in usage_features(jobs).columns if n not in ("start_s", "end_s")]
        self.profiles_ = describe_profiles(jobs, found, metrics=metrics, scores=scores)
        self.metadata_ = metadata_columns(jobs)
        self.assigner_ = learn_assigner(
            values,
            found.labels,
            metric=generator.metric,
            members=self.members,
            random_state=self.random_state,
        )
        self.notes_ = (*features.notes, *found.notes, *_warnings(found))
        self.data_hash_ = content_hash(features)
        return self

    def predict(self, jobs: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the profile of finished jobs from their use; -1 if they fit none."""
        return self.assign(jobs).labels

    def assign(self, jobs: pd.DataFrame) -> Assignment:
        """Return profile, strength and distance of finished jobs, from their use."""
        self._require_fit()
        lacking = [name for name in self.columns_ if name not in jobs]
        if lacking:
            raise MissingColumnError(
                f"these profiles were learnt with {', '.join(lacking)}, which the job table "
                "lacks. Give a table of the same source, or learn profiles anew."
            )
        held = jobs.loc[:, list(self.columns_)]
        values = held.to_numpy(np.float64, na_value=np.nan)
        if np.isinf(values).any():
            raise InputError("a metric is infinite. Correct the row, or make it missing.")
        return self.assigner_.assign(self.transform_(np.nan_to_num(values)))

    def profile(self, number: int | str) -> Profile:
        """Return one profile by its number or name; ``outliers`` is -1."""
        self._require_fit()
        word = str(OUTLIERS) if number == "outliers" else str(number)
        for one in self.profiles_:
            if word in (str(one.profile), one.name):
                return one
        known = [one.name for one in self.profiles_]
        raise ParameterError(
            not_among(f"there is no profile {number}.", word, known, heading="There are")
        )

    def save(self, path: Path | str) -> str:
        """Write the profiles to one file and return its checksum."""
        self._require_fit()
        arrays: dict[str, Any] = {
            **self.transform_.to_arrays(),
            "labels": self.labels_,
            "strength": self.strength_,
            "members": self.assigner_.members,
            "member_labels": self.assigner_.labels,
            "member_profiles": self.assigner_.profiles,
            "reach": self.assigner_.reach,
        }
        if self.tree_ is not None:
            arrays |= {
                "tree_parent": self.tree_.parent,
                "tree_child": self.tree_.child,
                # equal jobs split at an infinite density, which arrays can hold
                "tree_density": self.tree_.density,
                "tree_size": self.tree_.size,
                "tree_profiles": np.array(sorted(self.tree_.profile_of.items()), dtype=np.int64),
            }
        meta = {
            "generator": self.generator_settings_,
            "transform": self.transform_.name,
            "leaking": self.leaking,
            "metric": self.assigner_.metric,
            "profiles": [one.to_dict() for one in self.profiles_],
            "statistics": self.statistics_,
            "metadata": self.metadata_,
            "notes": list(self.notes_),
            "members": self.members,
        }
        return save_model(
            path,
            kind=KIND,
            meta=meta,
            arrays=arrays,
            columns=self.columns_,
            data_hash=self.data_hash_,
            seed=self.random_state,
        )

    @classmethod
    def load(cls, path: Path | str) -> WorkloadProfiler:
        """Return the profiles of a file: the same labels, and the same assignments."""
        model = load_model(path, kind=KIND)
        meta, arrays = model.meta, model.arrays
        try:
            self = cls(
                transform=meta["transform"],
                leaking=meta["leaking"],
                members=meta["members"],
                random_state=model.seed or 0,
            )
            self.columns_ = model.columns
            self.transform_ = Transform(
                meta["transform"], arrays["centre"], arrays["scale"], arrays["lambdas"]
            )
            self.labels_, self.strength_ = arrays["labels"], arrays["strength"]
            self.assigner_ = Assigner(
                arrays["members"],
                arrays["member_labels"],
                arrays["member_profiles"],
                arrays["reach"],
                meta["metric"],
            )
            self.tree_ = _tree(dict(arrays))
            self.profiles_ = [profile_from_dict(held) for held in meta["profiles"]]
            self.generator_settings_ = dict(meta["generator"])
            self.statistics_ = dict(meta["statistics"])
            self.metadata_ = list(meta["metadata"])
            self.notes_ = tuple(meta["notes"])
            self.data_hash_ = model.data_hash
        except (KeyError, TypeError) as cause:
            raise ModelFileError(
                f"{path}: lacks a part of the profiles ({cause}). Learn them anew."
            ) from cause
        return self

    def _require_fit(self) -> None:
        if not hasattr(self, "profiles_"):
            raise ParameterError("the profiler has not learnt yet. Call fit(jobs) first.")


def _warnings(found: Clustering) -> tuple[str, ...]:
    if found.count == 0:
        return (
            "Every job is an outlier: there are no profiles. Take a smaller least size, another "
            "transform, or a longer history.",
        )
    share = float((found.labels == OUTLIERS).mean())
    if share > 0.5:
        return (
            f"{share:.0%} of the jobs are outliers; {counted(found.count, 'profile')} stand for "
            "the rest.",
        )
    return ()


def _tree(arrays: dict[str, Any]) -> CondensedTree | None:
    if "tree_parent" not in arrays:
        return None
    return CondensedTree(
        arrays["tree_parent"],
        arrays["tree_child"],
        arrays["tree_density"],
        arrays["tree_size"],
        {int(node): int(profile) for node, profile in arrays["tree_profiles"]},
    )
