"""Which profile do a job's metadata suggest? The one that most jobs of its key belonged to."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from prophase.array_types import Ints
from prophase.profile.clusters.quality import OUTLIERS
from prophase.profile.predict.back_off_keys import choose_levels, hash_columns, key_of
from prophase.profile.predict.submit_columns import submitted

#: jobs of a key before it suggests anything
_FEWEST = 3
#: share of them that have to agree
_AGREE = 0.6


class UsualProfiles:
    """Counts profiles by key, from the finest key to the coarsest.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 5})
    >>> usual = UsualProfiles(jobs)
    >>> usual.add(jobs, np.array([3, 7] * 5))
    >>> usual.expect(pd.DataFrame({"user": ["bob", "ann", "new"]}))
    array([ 7,  3, -1])
    """

    def __init__(self, jobs: pd.DataFrame) -> None:
        # that all jobs together mostly belong somewhere says nothing of one
        self.levels = [level for level in choose_levels(submitted(jobs)) if level.columns]
        self.counts: list[dict[int, Counter[int]]] = [{} for _ in self.levels]

    def add(self, jobs: pd.DataFrame, labels: Ints) -> None:
        """Count finished jobs and the profile of each."""
        for keys, counts in zip(self._keys(jobs), self.counts, strict=True):
            for key, label in zip(keys, labels.tolist(), strict=True):
                counts.setdefault(key, Counter())[label] += 1

    def expect(self, jobs: pd.DataFrame) -> Ints:
        """Return the profile that the finest known key suggests; -1 if there is none."""
        found = np.full(len(jobs), OUTLIERS, dtype=np.int64)
        still = set(range(len(jobs)))
        for keys, counts in zip(self._keys(jobs), self.counts, strict=True):
            for row in sorted(still):
                held = counts.get(keys[row])
                total = held.total() if held else 0
                if held is None or total < _FEWEST:
                    continue
                still.discard(row)
                label, most = max(held.items(), key=lambda item: (item[1], -item[0]))
                if most >= _AGREE * total:
                    found[row] = label
        return found

    def _keys(self, jobs: pd.DataFrame) -> list[list[int]]:
        seen = submitted(jobs)
        wanted = {column for level in self.levels for column in level.columns}
        hashes = hash_columns(seen, wanted)
        return [key_of(level, hashes, len(seen)).tolist() for level in self.levels]
