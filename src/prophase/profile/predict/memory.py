"""What is remembered of finished jobs, and what of it was known at a given moment.

Rows lie sorted by key and end, so "the last 16 jobs of this key that had ended before that
moment" is one slice. A finished job is added to a short run that is folded into the long
one now and then; it counts from the next question on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
#: keys, ends and values
Rows = tuple[Keys, Floats, Floats]

#: how many of the latest rows of a key are looked at
RECENT = 16


@dataclass(frozen=True)
class Recall:
    """What one level remembers, a row per question.

    ``values`` and ``ends`` have :data:`RECENT` columns, latest first, NaN where there are
    fewer; ``count`` and ``total`` are over all rows of the key.
    """

    count: Ints
    total: Floats
    values: Floats
    ends: Floats

    @property
    def mean(self) -> Floats:
        """Mean over all rows of the key; NaN where there is none."""
        return np.where(self.count > 0, self.total / np.maximum(self.count, 1), np.nan)

    def middle(self, most: int = RECENT) -> Floats:
        """Median of the latest ``most`` rows of the key; NaN where there is none."""
        ordered = np.sort(self.values[:, :most], axis=1)
        held = np.minimum(self.count, most)
        rows = np.arange(len(held))
        low = ordered[rows, np.maximum((held - 1) // 2, 0)]
        high = ordered[rows, np.minimum(held // 2, most - 1)]
        return np.asarray(0.5 * (low + high))

    def spread(self, most: int = RECENT) -> Floats:
        """Standard deviation of the latest ``most`` rows of the key."""
        values = self.values[:, :most]
        known = ~np.isnan(values)
        held = np.maximum(known.sum(axis=1), 1)
        filled = np.where(known, values, 0.0)
        centre = filled.sum(axis=1) / held
        away = np.where(known, values - centre[:, None], 0.0)
        return np.where(self.count > 0, np.sqrt((away**2).sum(axis=1) / held), np.nan)


class Memory:
    """Outcomes of finished jobs by key, askable as of any moment.

    Examples
    --------
    >>> memory = Memory()
    >>> keys = np.array([7, 7, 9], dtype=np.uint64)
    >>> memory.add(keys, np.array([1.0, 5.0, 2.0]), np.array([10.0, 20.0, 30.0]))
    >>> memory.recall(keys[:1], np.array([4.0])).count
    array([1])
    """

    def __init__(self) -> None:
        self._long = _Run.of(np.empty(0, np.uint64), np.empty(0), np.empty(0))
        self._short = self._long

    def __len__(self) -> int:
        return len(self._long.ends) + len(self._short.ends)

    def add(self, keys: Keys, ends: Floats, values: Floats) -> None:
        """Remember finished jobs."""
        self._short = self._short.joined(_Run.of(keys, ends, values))
        if len(self._short.ends) > max(256, len(self._long.ends) // 20):
            self._long = self._long.joined(self._short)
            self._short = _Run.of(np.empty(0, np.uint64), np.empty(0), np.empty(0))

    def recall(self, keys: Keys, as_of: Floats) -> Recall:
        """Return what was known of each key before each moment."""
        long = self._long.recall(keys, as_of)
        if len(self._short.ends) == 0:
            return long
        short = self._short.recall(keys, as_of)
        ends = np.concatenate([short.ends, long.ends], axis=1)
        values = np.concatenate([short.values, long.values], axis=1)
        # NaN sorts last, so unknown places stay behind
        order = np.argsort(-ends, axis=1, kind="stable")[:, :RECENT]
        return Recall(
            count=short.count + long.count,
            total=short.total + long.total,
            values=np.take_along_axis(values, order, axis=1),
            ends=np.take_along_axis(ends, order, axis=1),
        )

    def rows(self) -> tuple[Keys, Floats, Floats]:
        """Return all keys, ends and values, in no particular order."""
        both = self._long.joined(self._short)
        return both.keys, both.ends, both.values

    def parts(self) -> tuple[Rows, Rows]:
        """Return keys, ends and values of both runs, in the order in which they were added."""
        return self._long.as_added(), self._short.as_added()

    @classmethod
    def of_parts(cls, long: Rows, short: Rows, like: Memory | None = None) -> Memory:
        """Return the memory that :meth:`parts` came from.

        A memory ``like`` it, with the same keys and ends, saves the sorting.
        """
        made = cls()
        if like is None:
            made._long, made._short = _Run.of(*long), _Run.of(*short)
        else:
            made._long = like._long.with_values(long[2])
            made._short = like._short.with_values(short[2])
        return made


@dataclass(frozen=True)
class _Run:
    """Rows sorted by key, then end, with what makes searching them quick."""

    keys: Keys
    ends: Floats
    values: Floats
    names: Keys
    first: Ints
    moments: Floats
    place: Ints
    sums: Floats
    #: where each row stood when it was added
    order: Ints

    @classmethod
    def of(cls, keys: Keys, ends: Floats, values: Floats) -> _Run:
        order = np.lexsort((ends, keys))
        keys, ends, values = keys[order], ends[order], values[order]
        names, first, code = np.unique(keys, return_index=True, return_inverse=True)
        moments, rank = np.unique(ends, return_inverse=True)
        place = code.astype(np.int64) * (len(moments) + 1) + rank
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return cls(keys, ends, values, names, first.astype(np.int64), moments, place, sums, order)

    def with_values(self, values: Floats) -> _Run:
        """Return the same rows with other values, given in the order in which rows were added."""
        sorted_values = values[self.order]
        sums = np.concatenate([[0.0], np.cumsum(sorted_values)])
        return replace(self, values=sorted_values, sums=sums)

    def as_added(self) -> Rows:
        back = np.empty_like(self.order)
        back[self.order] = np.arange(len(back))
        return self.keys[back], self.ends[back], self.values[back]

    def joined(self, other: _Run) -> _Run:
        if len(self.ends) == 0:
            return other
        if len(other.ends) == 0:
            return self
        pairs = zip(self.as_added(), other.as_added(), strict=True)
        keys, ends, values = (np.concatenate(pair) for pair in pairs)
        return _Run.of(keys, ends, values)

    def recall(self, keys: Keys, as_of: Floats) -> Recall:
        rows = len(keys)
        nothing = np.full((rows, RECENT), np.nan)
        if len(self.ends) == 0:
            return Recall(np.zeros(rows, np.int64), np.zeros(rows), nothing, nothing.copy())
        code = np.minimum(np.searchsorted(self.names, keys), len(self.names) - 1)
        known = self.names[code] == keys
        # strictly before: an outcome of the very moment is not known yet
        rank = np.searchsorted(self.moments, as_of, side="left")
        until = np.searchsorted(self.place, code * (len(self.moments) + 1) + rank, side="left")
        start = self.first[code]
        count = np.where(known, until - start, 0)
        index = until[:, None] - 1 - np.arange(RECENT)[None, :]
        held = known[:, None] & (index >= start[:, None])
        index = np.maximum(index, 0)
        return Recall(
            count=count,
            total=np.where(known, self.sums[until] - self.sums[start], 0.0),
            values=np.where(held, self.values[index], np.nan),
            ends=np.where(held, self.ends[index], np.nan),
        )
