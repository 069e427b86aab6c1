"""The most frequent profile: of all jobs, or of those with the same key, finest key first."""

from __future__ import annotations

from typing import Any

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.modelfile import Parts
from prophase.profile.classify.metadata_words import Words
from prophase.profile.classify.methods.method import Method


class Majority(Method):
    """Answers with the shares of the profiles, whatever the job."""

    name = "most-frequent"
    about = "the most frequent profile, whatever the job"

    def _learn(self, words: Words, codes: Ints, classes: int) -> None:
        """The shares are all there is."""

    def probabilities(self, words: Words) -> Floats:
        return np.tile(self.prior, (len(words), 1))

    def _parts(self) -> Parts:
        return Parts()

    def _restore(self, parts: Parts) -> None:
        """The shares are all there is."""


#: keys from the finest to the coarsest, as far as the columns are there
_KEYS = (
    ("name", "task"),
    ("parent_id", "task"),
    ("group", "task"),
    ("group",),
    ("name",),
    ("parent_id",),
    ("user", "workload", "task"),
    ("user", "workload"),
    ("user", "task"),
    ("user",),
    ("workload", "task"),
    ("workload",),
    ("task",),
)
#: how many jobs the next coarser key weighs
_PULL = 1.0


class MajorityRules(Method):
    """A table of counts per key; each is pulled a little towards that of the coarser key."""

    name = "rules"
    about = "majority of the finest key seen before, group and task down to workload"

    def _learn(self, words: Words, codes: Ints, classes: int) -> None:
        self._columns = words.columns
        self._tables: list[dict[tuple[Any, ...], Floats]] = []
        for key in _keys(words.columns):
            table: dict[tuple[Any, ...], Floats] = {}
            for values, code in zip(words.only(key).tolist(), codes.tolist(), strict=True):
                # a value that is not known does not make two jobs alike
                if None not in values:
                    table.setdefault(tuple(values), np.zeros(classes))[code] += 1.0
            self._tables.append(table)

    def probabilities(self, words: Words) -> Floats:
        found = np.tile(self.prior, (len(words), 1))
        for key, table in reversed(list(zip(_keys(words.columns), self._tables, strict=True))):
            for row, values in enumerate(words.only(key).tolist()):
                counts = table.get(tuple(values))
                if counts is not None:
                    found[row] = (counts + _PULL * found[row]) / (counts.sum() + _PULL)
        return found

    def _parts(self) -> Parts:
        keys = [[list(key) for key in table] for table in self._tables]
        held = [counts for table in self._tables for counts in table.values()]
        return Parts(
            {"columns": list(self._columns), "keys": keys},
            {"counts": np.array(held).reshape(len(held), len(self.prior))},
        )

    def _restore(self, parts: Parts) -> None:
        self._columns = tuple(parts.meta["columns"])
        counts = iter(np.asarray(parts.arrays["counts"], dtype=np.float64))
        self._tables = [{tuple(key): next(counts) for key in table} for table in parts.meta["keys"]]


def _keys(columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return all columns together, then the known keys that these columns allow."""
    allowed = [key for key in _KEYS if set(key) <= set(columns)]
    alone = [(column,) for column in columns if not any(column in key for key in _KEYS)]
    found = [columns, *allowed, *alone]
    return [key for place, key in enumerate(found) if set(key) not in map(set, found[:place])]
