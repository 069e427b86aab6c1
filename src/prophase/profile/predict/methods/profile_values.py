"""What the jobs of each profile came to, as of any moment; a finished job counts at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prophase.profile.predict.memory import Floats, Ints

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
