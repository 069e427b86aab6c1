"""New profiles for those that broke: all others keep their number and their meaning."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from prophase.array_types import Floats, Ints
from prophase.plural import counted
from prophase.profile.clusters.assigner import Assigner, learn_assigner
from prophase.profile.clusters.clustering import Clustering
from prophase.profile.clusters.generators.density import Hdbscan
from prophase.profile.clusters.profile_names import named_profiles
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.profiles import describe_profiles
from prophase.profile.clusters.quality import OUTLIERS

#: fewest jobs that make it worth looking for new profiles, and fewest of one
FEWEST = 60
_LEAST_SIZE = 15
#: share of a broken profile's jobs that dense places have to hold to be its new profiles
_TAKEN = 0.5


@dataclass(frozen=True)
class Reprofiled:
    """The profiles afterwards: which are new, which are no more, and what was done."""

    profiler: WorkloadProfiler
    retired: tuple[int, ...]
    new: tuple[int, ...]
    note: str


def reprofile(
    profiler: WorkloadProfiler,
    jobs: pd.DataFrame,
    belonged: Ints,
    broken: Sequence[int],
    *,
    first_number: int,
) -> Reprofiled:
    """Group jobs of broken profiles and outliers into new profiles.

    Parameters
    ----------
    jobs : DataFrame
        Jobs since the change that belong to a broken profile or to none.
    belonged : array
        The broken profile of each, by its metadata or its use; -1 for outliers.
    first_number : int
        New profiles are numbered from here; no profile ever had these numbers.

    Returns
    -------
    Reprofiled
        With a profiler that assigns every job of an untouched profile as before.
    """
    if len(jobs) < FEWEST:
        note = f"{counted(len(jobs), 'job')} since the change, too few to make profiles of"
        return Reprofiled(profiler, (), (), note)
    values = _scaled(profiler, jobs)
    size = max(_LEAST_SIZE, round(0.05 * len(jobs)))
    metric = profiler.assigner_.metric
    found = Hdbscan(size, min_samples=min(10, size - 1), metric=metric).cluster(values)
    labels, strength = found.labels.astype(np.int64), found.strength.copy()
    retired = tuple(one for one in broken if (belonged == one).sum() >= _LEAST_SIZE)
    for place, one in enumerate(retired):
        own = belonged == one
        if (labels[own] != OUTLIERS).mean() < _TAKEN:
            # no denser places: the jobs of the broken profile are one kind, as they were
            labels[own], strength[own] = found.count + place, 1.0
    kept = [
        one for one in np.unique(labels) if one != OUTLIERS and (labels == one).sum() >= _LEAST_SIZE
    ]
    if not kept:
        return Reprofiled(profiler, (), (), "the outliers form no profile")
    labels = np.where(np.isin(labels, kept), first_number + np.searchsorted(kept, labels), OUTLIERS)
    new = tuple(range(first_number, first_number + len(kept)))
    later = learn_assigner(
        values, labels, metric=metric, members=profiler.members, random_state=profiler.random_state
    )
    made = copy.copy(profiler)
    made.assigner_ = _behind(profiler.assigner_, later, retired)
    metrics = [name for name in _metrics(profiler) if name in jobs]
    described = describe_profiles(jobs, Clustering(labels, strength), metrics=metrics)
    stay = [one for one in profiler.profiles_ if one.profile not in retired]
    made.profiles_ = named_profiles(
        [*stay, *(one for one in described if not one.outliers)],
        {one.profile: one.name for one in stay},
    )
    gone = np.isin(made.labels_, retired)
    made.labels_ = np.where(gone, OUTLIERS, made.labels_)
    made.strength_ = np.where(gone, 0.0, made.strength_)
    if made.tree_ is not None:
        named = {n: p for n, p in made.tree_.profile_of.items() if p not in retired}
        made.tree_ = replace(made.tree_, profile_of=named)
    inside = int((labels != OUTLIERS).sum())
    note = f"{inside:,} of {counted(len(jobs), 'job')} since the change are in new profiles"
    return Reprofiled(made, retired, new, note)


def _behind(assigner: Assigner, later: Assigner, retired: Sequence[int]) -> Assigner:
    """Put what was learned last behind everything before; retire profiles where they are known."""
    here = np.array([one for one in retired if one in assigner.profiles], dtype=np.int64)
    gone = np.union1d(assigner.retired, here)
    behind = later if assigner.later is None else _behind(assigner.later, later, retired)
    return replace(assigner, retired=gone, later=behind)


def _scaled(profiler: WorkloadProfiler, jobs: pd.DataFrame) -> Floats:
    values = jobs.loc[:, list(profiler.columns_)].to_numpy(np.float64, na_value=np.nan)
    return profiler.transform_(np.nan_to_num(values))


def _metrics(profiler: WorkloadProfiler) -> list[str]:
    names = [name for one in profiler.profiles_ for name in one.dynamic]
    return list(dict.fromkeys(names))
