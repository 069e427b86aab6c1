"""WorkloadProfiler: learn profiles from a job table, assign further jobs, save and load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.array_types import Floats, Ints
from prophase.errors import (
    InputError,
    MissingColumnError,
    ModelFileError,
    ParameterError,
    not_among,
)
from prophase.json_types import JsonObject
from prophase.modelfile import load_model, save_model
from prophase.plain import finite
from prophase.plural import counted
from prophase.profile.clusters.assigner import ProfileAssignment, learn_assigner
from prophase.profile.clusters.clustering import Clustering, Generator, cluster_statistics
from prophase.profile.clusters.generators.usage_tree import UsageTree
from prophase.profile.clusters.profile_names import named_profiles
from prophase.profile.clusters.profiler_file import (
    FittedProfiles,
    arrays_to_keep,
    restore,
    settings_to_keep,
)
from prophase.profile.clusters.profiles import Profile, describe_profiles, metadata_columns
from prophase.profile.clusters.quality import OUTLIERS, Silhouettes, silhouettes
from prophase.profile.clusters.transforms import fit_transform
from prophase.profile.clusters.usage_metrics import content_hash, usage_features
from prophase.trace.schema import known_at_submit

KIND = "profile.clusters"


@dataclass(frozen=True)
class Recognised:
    """Jobs of a table with their profiles; ``learnt`` if these are the jobs of the fit."""

    jobs: pd.DataFrame
    labels: Ints
    strength: Floats
    scores: Silhouettes
    learnt: bool


@dataclass(eq=False, repr=False)
class WorkloadProfiler(FittedProfiles):
    """Group jobs by how they use resources.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> jobs = pd.DataFrame({"cpu_mean_cores": np.repeat([1.0, 8.0], 50) + rng.normal(0, 0.1, 100)})
    >>> jobs["memory_peak_gib"] = np.repeat([2.0, 64.0], 50) + rng.normal(0, 0.1, 100)
    >>> profiler = WorkloadProfiler().fit(jobs)
    >>> [(one.profile, one.n) for one in profiler.profiles_ if not one.outliers]
    [(0, 50), (1, 50)]
    """

    #: what makes the groups; ``UsageTree`` if not given, at most 16 that a person can name
    generator: Generator | None = None
    _: KW_ONLY
    #: how metrics are brought to one scale; see ``transforms``
    transform: str = "power"
    #: let start, end and duration take part, as the paper does. They describe when and how long a
    #: job ran, which is what profiles are to predict
    leaking: bool = False
    #: jobs per profile that are remembered to assign others
    members: int = 500
    #: jobs that belong to their profile with less strength than this become outliers, too
    reject_below: float = 0.0
    #: rows whose silhouette is taken
    silhouette_rows: int | None = 5_000
    random_state: int = 0

    def fit(self, jobs: pd.DataFrame, y: None = None) -> Self:
        """Learn profiles from a job table."""
        if self.members < 1:
            raise ParameterError(f"members is {self.members}; remember one job or more.")
        if self.generator is not None and not hasattr(self.generator, "cluster"):
            word = self.generator if isinstance(self.generator, str) else "hdbscan"
            raise ParameterError(
                f"generator is {self.generator!r}; give the generator itself. "
                "prophase.profile.clusters.generators."
                f"generator_names.generator_named({word!r}, jobs) makes one."
            )
        if not 0 <= self.reject_below <= 1:
            raise ParameterError(f"reject_below is {self.reject_below}; strengths are 0 to 1.")
        features = usage_features(jobs, leaking=self.leaking)
        generator = self.generator or UsageTree()
        self.transform_ = fit_transform(self.transform, features.values)
        values = self.transform_(features.values)
        found = generator.cluster(values, jobs).without_weak(self.reject_below)
        scores = silhouettes(
            values,
            found.labels,
            metric=generator.metric,
            rows=self.silhouette_rows,
            random_state=self.random_state,
        )
        self.columns_ = features.columns
        self.labels_, self.strength_, self.tree_ = found.labels, found.strength, found.tree
        self.reachability_, self.job_ids_ = found.reachability, _ids(jobs)
        self.scores_ = scores
        self.statistics_ = cluster_statistics(values, found, scores)
        self.generator_settings_ = generator.settings()
        metrics = [n for n in usage_features(jobs).columns if n not in ("start_s", "end_s")]
        self.profiles_ = named_profiles(
            describe_profiles(jobs, found, metrics=metrics, scores=scores), found.names
        )
        self.metadata_ = metadata_columns(jobs)
        self.assigner_ = learn_assigner(
            values,
            found.labels,
            metric=generator.metric,
            members=self.members,
            random_state=self.random_state,
        )
        self.notes_ = (*features.notes, *found.notes, *_warnings(found, features.columns))
        self.data_hash_ = content_hash(features)
        return self

    def predict(self, jobs: pd.DataFrame, *, reject: bool = True) -> Ints:
        """Return the profile of finished jobs from their use; -1 if they fit none."""
        return self.assign(jobs, reject=reject).labels

    def assign(self, jobs: pd.DataFrame, *, reject: bool = True) -> ProfileAssignment:
        """Return profile, strength and distance of finished jobs, from their use.

        Parameters
        ----------
        reject : bool, default=True
            Count a job beyond the reach of every profile, or among outliers, as an outlier
            (-1). If False it goes to the profile of its nearest member; its strength is 0.
        """
        self._require_fit()
        lacking = [name for name in self.columns_ if name not in jobs]
        if lacking:
            raise MissingColumnError(
                f"these profiles were learned with {', '.join(lacking)}, which the job table "
                "lacks. Give a table of the same source, or learn profiles again."
            )
        scaled = self.transform_(_filled(jobs, self.columns_))
        found = self.assigner_.assign(scaled, reject=reject)
        return found.without_weak(self.reject_below) if reject else found

    def recognise(self, jobs: pd.DataFrame) -> Recognised:
        """Return the jobs of a table with their profiles, those of the fit if they are its jobs.

        A table that holds the very jobs of the fit gets their labels; jobs it has besides, such
        as unfinished ones, are left out. Any other table is assigned by use.
        """
        self._require_fit()
        held = self._jobs_of_fit(jobs)
        if held is not None:
            return Recognised(held, self.labels_, self.strength_, self.scores_, True)
        found = self.assign(jobs)
        scores = silhouettes(
            self.transform_(_filled(jobs, self.columns_)),
            found.labels,
            metric=self.assigner_.metric,
            rows=self.silhouette_rows,
            random_state=self.random_state,
        )
        whole = jobs.reset_index(drop=True)
        return Recognised(whole, found.labels, found.strength, scores, False)

    def learnt_from(self, jobs: pd.DataFrame) -> bool:
        """Return whether a table holds the very jobs of the fit, with the same use."""
        self._require_fit()
        return self._jobs_of_fit(jobs) is not None

    def _jobs_of_fit(self, jobs: pd.DataFrame) -> pd.DataFrame | None:
        """Return the jobs of the fit, in their order; None if the table lacks or changed some."""
        known = pd.Index(_ids(jobs))
        places = known.get_indexer(pd.Index(self.job_ids_)) if known.is_unique else None
        if places is None or not (places >= 0).all():
            return None
        held = jobs.iloc[places].reset_index(drop=True)
        if not all(name in held and held[name].notna().any() for name in self.columns_):
            return None
        same = content_hash(usage_features(held, columns=self.columns_)) == self.data_hash_
        return held if same else None

    def profile(self, number: int | str) -> Profile:
        """Return one profile by its number or name; ``outliers`` is -1."""
        self._require_fit()
        word = str(OUTLIERS) if number == "outliers" else str(number)
        for one in self.profiles_:
            if word in (str(one.profile), one.name):
                return one
        known = [str(one.profile) for one in self.profiles_]
        raise ParameterError(
            not_among(f"there is no profile {number}.", word, known, heading="There are")
        )

    def to_dict(self, profiles: Sequence[Profile] | None = None) -> JsonObject:
        """Return how profiles were learned and what each is.

        ``profiles`` are those as they are now, if jobs were counted in since they were learned.
        """
        summary: JsonObject = finite(
            {
                "generator": self.generator_settings_,
                "transform": self.transform_.name,
                "leaking": self.leaking,
                "columns": list(self.columns_),
                "statistics": self.statistics_,
                "notes": list(self.notes_),
                "profiles": [one.to_dict() for one in profiles or self.profiles_],
            }
        )
        return summary

    def save(self, path: Path | str) -> str:
        """Write the profiles to one file and return its checksum."""
        self._require_fit()
        return save_model(
            path,
            kind=KIND,
            meta=settings_to_keep(self),
            arrays=arrays_to_keep(self),
            columns=self.columns_,
            data_hash=self.data_hash_,
            seed=self.random_state,
        )

    @classmethod
    def load(cls, path: Path | str) -> WorkloadProfiler:
        """Return the profiles of a file: the same labels, and the same assignments."""
        model = load_model(path, kind=KIND)
        try:
            self = cls(
                transform=model.meta["transform"],
                leaking=model.meta["leaking"],
                members=model.meta["members"],
                reject_below=model.meta["reject_below"],
                random_state=model.seed or 0,
            )
            restore(self, model)
        except (KeyError, TypeError, IndexError) as cause:
            raise ModelFileError(
                f"{path}: lacks a part of the profiles ({cause}). Learn them again."
            ) from cause
        return self

    def _require_fit(self) -> None:
        if not hasattr(self, "profiles_"):
            raise ParameterError("the profiler is not fitted yet. Call fit(jobs) first.")


def _ids(jobs: pd.DataFrame) -> NDArray[np.str_]:
    return np.asarray(jobs.get("job_id", jobs.index), dtype=np.str_)


def _filled(jobs: pd.DataFrame, columns: Sequence[str]) -> Floats:
    values = jobs.loc[:, list(columns)].to_numpy(np.float64, na_value=np.nan)
    if np.isinf(values).any():
        raise InputError("a metric is infinite. Correct the row, or make it missing.")
    filled: Floats = np.nan_to_num(values)
    return filled


def _warnings(found: Clustering, columns: Sequence[str]) -> tuple[str, ...]:
    said = _about_outliers(found)
    if set(known_at_submit(columns)) == set(columns):
        said += (
            "No use is recorded: profiles are made of requests alone and say nothing about what "
            "jobs do.",
        )
    return said


def _about_outliers(found: Clustering) -> tuple[str, ...]:
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
