"""Groups of finished jobs by use, as the paper makes its profiles, and what their jobs came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Floats, Ints
from prophase.errors import InputError
from prophase.plural import counted
from prophase.profile.clusters.assigner import Assigner, learn_assigner
from prophase.profile.clusters.generators.density import Hdbscan
from prophase.profile.clusters.transforms import Transform, fit_transform
from prophase.profile.clusters.usage_metrics import LEAKING, USAGE_METRICS
from prophase.profile.predict.submit_columns import numbers
from prophase.trace.schema import known_at_submit

#: jobs that are clustered; the others join the profile of their nearest one
SAMPLE = 5_000
#: the paper's least size of a profile, 300 of 100,001 jobs; the floor for short histories is
#: not the paper's, and was settled on the published rows (see the guide)
_LEAST_SHARE = 0.003
_LEAST_SIZE = 5
#: members of a profile that others are compared with
_MEMBERS = 300


@dataclass(frozen=True)
class UsageGroups:
    """Learned groups: how metrics are scaled, and which members stand for each group."""

    transform: Transform
    assigner: Assigner
    #: what a reader of the answers has to know
    notes: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.assigner.profiles)

    def labels(self, usage: Floats) -> Ints:
        """Return the group of each job from its use; -1 if it fits none."""
        if not len(usage):
            return np.empty(0, dtype=np.int64)
        return self.assigner.assign(self.transform(usage)).labels


def usage_columns(jobs: pd.DataFrame) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return those of the paper's 17 metrics that jobs have, and notes on what they lack."""
    first = "gang_size" if "gang_size" in jobs else "instances"
    wanted = [first, *list(USAGE_METRICS.values())[1:]]
    present = tuple(name for name in wanted if np.isfinite(numbers(jobs, name)).any())
    requested = set(known_at_submit(present))
    measured = [n for n in present if n not in LEAKING and n not in requested]
    if measured:
        return present, ()
    named = ", ".join(present) or "nothing"
    return present, (f"The jobs have no measured use; they are grouped by {named}.",)


def usage_values(jobs: pd.DataFrame, columns: tuple[str, ...]) -> Floats:
    """Return the metrics of jobs, (jobs, columns); what is missing is 0, as in the paper."""
    if not columns:
        return np.zeros((len(jobs), 0))
    held = np.column_stack([numbers(jobs, name) for name in columns])
    return np.where(np.isfinite(held), held, 0.0)


def learn_groups(usage: Floats, random_state: int) -> tuple[UsageGroups | None, str]:
    """Cluster jobs as the paper does; None, and why, if no group is found."""
    jobs = len(usage)
    notes: tuple[str, ...] = ()
    if jobs > SAMPLE:
        draw = np.random.default_rng(random_state)
        usage = usage[np.sort(draw.choice(jobs, SAMPLE, replace=False))]
        notes = (f"Clustered {SAMPLE:,} of {jobs:,} jobs; the others joined their nearest.",)
    if not usage.shape[1]:
        return None, "the finished jobs have no metric to be grouped by"
    transform = fit_transform("power", usage)
    values = transform(usage)
    try:
        # as many neighbours make a place dense as make a profile: the paper's setting
        least = max(_LEAST_SIZE, round(_LEAST_SHARE * len(usage)))
        found = Hdbscan(min_cluster_size=least).cluster(values)
    except InputError:
        return None, f"{counted(jobs, 'finished job')} are too few to be grouped by their use"
    if not found.count:
        return None, f"the {counted(jobs, 'finished job')} form no group by their use"
    assigner = learn_assigner(values, found.labels, members=_MEMBERS, random_state=random_state)
    return UsageGroups(transform, assigner, notes), ""


#: one number for the values of a profile
Summary = Callable[[Floats], float]


class ProfileValues:
    """Values of each profile in the order in which they became known.

    Examples
    --------
    >>> held = ProfileValues()
    >>> held.add(np.array([8, 8]), np.array([1.0, 5.0]), np.array([10.0, 30.0]))
    >>> held.ask(np.array([8, 8]), np.array([2.0, 9.0]), np.mean)
    array([10., 20.])
    """

    def __init__(self) -> None:
        #: profile -> moments and values, by moment
        self.of: dict[int, list[Floats]] = {}

    def add(self, profiles: Ints, ends: Floats, values: Floats) -> None:
        """Remember values that became known at ``ends``; those of no profile (-1) are not."""
        for profile in np.unique(profiles[profiles >= 0]).tolist():
            mine = profiles == profile
            order = np.argsort(ends[mine], kind="stable")
            new_ends, new_values = ends[mine][order], values[mine][order]
            known_ends, known_values = self.of.get(profile, [np.empty(0), np.empty(0)])
            place = np.searchsorted(known_ends, new_ends, side="right")
            self.of[profile] = [
                np.insert(known_ends, place, new_ends),
                np.insert(known_values, place, new_values),
            ]

    def ask(self, profiles: Ints, as_of: Floats, summary: Summary) -> Floats:
        """Return the summary of each profile over what was known before each moment."""
        found = np.full(len(profiles), np.nan)
        for profile in np.unique(profiles).tolist():
            if profile not in self.of:
                continue
            rows = np.flatnonzero(profiles == profile)
            ends, values = self.of[profile]
            # strictly before: an outcome of the very moment is not known yet
            known = np.searchsorted(ends, as_of[rows], side="left")
            for count in np.unique(known[known > 0]).tolist():
                found[rows[known == count]] = summary(values[:count])
        return found
