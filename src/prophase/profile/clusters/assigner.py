"""Assign further jobs to profiles by their nearest known member, or to none.

Works for every generator and needs no library object to be kept: a profile is remembered by
some of its members and by its reach, the distance within which its other members found one.
A job beyond the reach of the nearest profile is an outlier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial import cKDTree

from prophase.array_types import Floats, Ints
from prophase.errors import InputError
from prophase.profile.clusters.quality import OUTLIERS

#: norm of the distance, as SciPy's tree wants it
NORMS = {"euclidean": 2.0, "manhattan": 1.0}
#: share of a profile's own members that its reach covers
_COVERED = 0.99


@dataclass(frozen=True)
class ProfileAssignment:
    """Profile of each job, how firmly (0 to 1), and how far its nearest member is."""

    labels: Ints
    strength: Floats
    distance: Floats

    def without_weak(self, below: float) -> ProfileAssignment:
        """Return the same, jobs that belong less firmly than ``below`` made outliers."""
        weak = self.strength < below
        return ProfileAssignment(
            np.where(weak, OUTLIERS, self.labels), np.where(weak, 0.0, self.strength), self.distance
        )


@dataclass(frozen=True)
class Assigner:
    """Members that stand for their profiles, and the reach of each profile."""

    members: Floats
    labels: Ints
    #: profiles in ascending order, and the reach of each
    profiles: Ints
    reach: Floats
    metric: str
    #: profiles that are no more; their jobs, and outliers, are looked up in ``later``
    retired: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: what was learned since; profiles that are not retired are never touched by it
    later: Assigner | None = None

    def assign(self, values: Floats, *, reject: bool = True) -> ProfileAssignment:
        """Return the profile of each row of values; -1 beyond the reach of the nearest.

        With ``reject=False`` every row goes to the profile of its nearest member, remembered
        outliers apart; one that would be rejected has strength 0.
        """
        found = self._assign(values, reject=reject)
        if self.later is None:
            return found
        gone = np.isin(found.labels, self.retired)
        found.labels[gone], found.strength[gone] = OUTLIERS, 0.0
        rows = np.flatnonzero(found.labels == OUTLIERS)
        since = self.later.assign(values[rows], reject=reject)
        for part in ("labels", "strength", "distance"):
            getattr(found, part)[rows] = getattr(since, part)
        return found

    def _assign(self, values: Floats, *, reject: bool) -> ProfileAssignment:
        kept = slice(None) if reject else self.labels != OUTLIERS
        members, known = self.members[kept], self.labels[kept]
        if not len(members):
            nothing = np.full(len(values), OUTLIERS, dtype=np.int64)
            return ProfileAssignment(nothing, np.zeros(len(values)), np.full(len(values), np.inf))
        distance, nearest = cKDTree(members).query(values, k=1, p=NORMS[self.metric])
        labels = known[nearest]
        place = np.searchsorted(self.profiles, labels)
        reach = np.where(
            labels == OUTLIERS, 0.0, self.reach[np.minimum(place, len(self.reach) - 1)]
        )
        inside = (labels != OUTLIERS) & (distance <= reach * (1 + 1e-9))
        share = np.divide(distance, reach, out=np.zeros_like(distance), where=reach > 0)
        strength = np.where(inside, 1.0 - 0.5 * np.minimum(share, 1.0), 0.0)
        given = np.where(inside, labels, OUTLIERS) if reject else labels
        return ProfileAssignment(given.astype(np.int64), strength, distance)


def learn_assigner(
    values: Floats,
    labels: Ints,
    *,
    metric: str = "euclidean",
    members: int = 500,
    random_state: int = 0,
) -> Assigner:
    """Keep some members of every profile, and as large a share of the outliers.

    Parameters
    ----------
    members : int, default=500
        Most members kept per profile. More follow the borders of a profile more closely.

    Examples
    --------
    >>> values = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> learn_assigner(values, np.array([0, 0, 0, 1, 1, 1])).assign(
    ...     np.array([[0.05], [3.0]])
    ... ).labels
    array([ 0, -1])
    """
    if metric not in NORMS:
        raise InputError(f"profiles are assigned by euclidean or manhattan distance, not {metric}.")
    rng = np.random.default_rng(random_state)
    profiles, sizes = np.unique(labels[labels != OUTLIERS], return_counts=True)
    kept, reach = [], []
    for profile in profiles:
        rows = np.flatnonzero(labels == profile)
        chosen = np.sort(rng.choice(rows, min(members, len(rows)), replace=False))
        kept.append(chosen)
        reach.append(_reach(values, rows, chosen, NORMS[metric]))
    outliers = np.flatnonzero(labels == OUTLIERS)
    if len(outliers) and len(profiles):
        share = min(1.0, sum(map(len, kept)) / sizes.sum())
        wanted = int(np.ceil(share * len(outliers)))
        kept.append(np.sort(rng.choice(outliers, wanted, replace=False)))
    rows = np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)
    return Assigner(
        np.ascontiguousarray(values[rows]),
        labels[rows].astype(np.int64),
        profiles.astype(np.int64),
        np.array(reach, dtype=np.float64),
        metric,
    )


def _reach(values: Floats, rows: Ints, chosen: Ints, norm: float) -> float:
    """Distance within which most members find another one among the chosen."""
    if len(rows) < 2:
        return 0.0
    nearest = cKDTree(values[chosen]).query(values[rows], k=min(2, len(chosen)), p=norm)[0]
    nearest = nearest.reshape(len(rows), -1)
    # a chosen member finds itself first
    apart = np.where(np.isin(rows, chosen), nearest[:, -1], nearest[:, 0])
    return float(np.quantile(apart, _COVERED))
