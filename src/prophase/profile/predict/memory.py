"""What is remembered of finished jobs, and what of it was known at a given moment.

Rows lie sorted by key and end, so "the last 16 jobs of this key that had ended before that
moment" is one slice. A finished job is added to a short run that is folded into the long
one now and then; it counts from the next question on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.array_types import Array, Floats, Ints
from prophase.errors import ModelFileError

Keys = NDArray[np.uint64]
#: keys, ends and values
Rows = tuple[Keys, Floats, Floats]
#: moments in their order, the place of each row's end among them, and the rows in this order
Ranks = tuple[Floats, Array, Ints]

#: how many of the latest rows of a key are looked at
RECENT = 16
#: how many rows stand for the whole past of a key
SAMPLED = 24
#: a median of more rows is that of some of them
_MANY = 5_000
#: of fewer rows keys are sorted as they are
_WORTH_NUMBERING = 4_000
#: places from the last row of a key backwards, and from the first on
_BACK = np.arange(1, RECENT + 1)[None, :]
_FIRST = np.arange(SAMPLED)[None, :]
_MIDST = _FIRST + 0.5
_COLUMNS = ("count", "total", "values", "newest", "sample")


@dataclass(frozen=True)
class Recall:
    """What one level remembers, a row per question.

    ``values`` has :data:`RECENT` columns, latest first, NaN where there are fewer; ``newest`` is
    the end of the latest one; ``count`` and ``total`` are over all rows of the key. ``sample`` has
    :data:`SAMPLED` values taken evenly over the key's past, in order of size.
    """

    count: Ints
    total: Floats
    values: Floats
    newest: Floats
    sample: Floats
    #: values are 0 or 1, whose middle is their share
    shares: bool = False
    _middles: dict[int, Floats] = field(default_factory=dict, repr=False, compare=False)

    def rows(self, chosen: NDArray[np.intp]) -> Recall:
        """Return what is remembered for some of the questions."""
        return replace(self, _middles={}, **{n: getattr(self, n)[chosen] for n in _COLUMNS})

    @staticmethod
    def joined(levels: Sequence[Recall]) -> Recall:
        """Return what several levels remember as one, level after level."""
        return Recall(
            count=np.concatenate([part.count for part in levels]),
            total=np.concatenate([part.total for part in levels]),
            values=np.concatenate([part.values for part in levels]),
            newest=np.concatenate([part.newest for part in levels]),
            sample=np.concatenate([part.sample for part in levels]),
            shares=levels[0].shares,
        )

    def share_middles(self, levels: Sequence[Recall]) -> None:
        """Let the levels that were joined know the medians that were computed for all."""
        for most, found in self._middles.items():
            for part, own in zip(levels, np.split(found, len(levels)), strict=True):
                part._middles[most] = own

    @property
    def mean(self) -> Floats:
        """Mean over all rows of the key; NaN where there is none."""
        return np.where(self.count > 0, self.total / np.maximum(self.count, 1), np.nan)

    def middle(self, most: int = RECENT) -> Floats:
        """Median of the latest ``most`` rows of the key; NaN where there is none."""
        # several features and methods ask for the same one
        if most not in self._middles:
            self._middles[most] = self._middle(most)
        return self._middles[most]

    def _middle(self, most: int) -> Floats:
        if self.shares and most == RECENT:
            # a share of few is mostly chance
            return self.mean
        if self.shares:
            held = np.minimum(self.count, most)
            total = np.nansum(self.values[:, :most], axis=1)
            return np.where(held > 0, total / np.maximum(held, 1), np.nan)
        ordered = np.sort(self.values[:, :most], axis=1)
        held = np.minimum(self.count, most)
        rows = np.arange(len(held))
        low = ordered[rows, np.maximum((held - 1) // 2, 0)]
        high = ordered[rows, np.minimum(held // 2, most - 1)]
        return np.asarray(0.5 * (low + high))

    def quantile(self, q: float) -> Floats:
        """Quantile over the whole past of the key, from its sample; NaN where there is none."""
        last = np.maximum(np.minimum(self.count, SAMPLED) - 1, 0)
        place = np.rint(q * last).astype(np.int64)
        return np.asarray(self.sample[np.arange(len(place)), place])

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
        #: where rows lie in both runs -> their median, kept until a row is added
        self._medians: dict[tuple[int, int, int, int], float] = {}

    def __len__(self) -> int:
        return len(self._long) + len(self._short)

    def add(
        self, keys: Keys, ends: Floats, values: Floats, ranks: Ranks | None = None
    ) -> None:  # fmt: skip
        """Remember finished jobs; ``ranks`` of their ends, if known, save sorting these."""
        self._medians = {}
        self._short = self._short.joined(_Run.of(keys, ends, values, ranks))
        if len(self._short) > max(256, len(self._long) // 20):
            self._long = self._long.joined(self._short)
            self._short = _Run.of(np.empty(0, np.uint64), np.empty(0), np.empty(0))

    def recall(self, keys: Keys, as_of: Floats) -> Recall:
        """Return what was known of each key before each moment."""
        start, count = self._long.find(keys, as_of)
        total = self._long.total(start, count)
        if len(self._short) == 0 and len(keys) == 1:
            values, newest = self._long.latest(start, count), self._long.newest(start, count)
            return Recall(count, total, values, newest, self._sample(start, count))
        if len(self._short) == 0:
            # many jobs ask for the same rows
            rows = start * (len(self._long) + 1) + count
            _, first, same = np.unique(rows, return_index=True, return_inverse=True)
            start, held = start[first], count[first]
            values, newest = self._long.latest(start, held), self._long.newest(start, held)
            sample = self._sample(start, held)
            return Recall(count, total, values[same], newest[same], sample[same])
        start_short, count_short = self._short.find(keys, as_of)
        both = (self._short, start_short, count_short), (self._long, start, count)
        ends = np.concatenate([run.latest_ends(*held) for run, *held in both], axis=1)
        values = np.concatenate([run.latest(*held) for run, *held in both], axis=1)
        # NaN sorts last, so unknown places stay behind
        order = np.argsort(-ends, axis=1, kind="stable")[:, :RECENT]
        return Recall(
            count=count + count_short,
            total=total + self._short.total(start_short, count_short),
            values=np.take_along_axis(values, order, axis=1),
            newest=np.take_along_axis(ends, order[:, :1], axis=1)[:, 0],
            sample=self._sample(start, count, start_short, count_short),
        )

    def moments(self, keys: Keys, as_of: Floats) -> tuple[Ints, Floats, Floats]:
        """Return count, mean and variance over all rows of each key that ended before.

        Examples
        --------
        >>> memory = Memory()
        >>> keys = np.array([1, 1], dtype=np.uint64)
        >>> memory.add(keys, np.array([1.0, 2.0]), np.array([5.0, 7.0]))
        >>> [one.tolist() for one in memory.moments(keys[:1], np.array([9.0]))]
        [[2], [6.0], [1.0]]
        """
        count = np.zeros(len(keys), dtype=np.int64)
        total, square = np.zeros(len(keys)), np.zeros(len(keys))
        for run in (self._long, self._short):
            start, held = run.find(keys, as_of)
            count += held
            total += run.total(start, held)
            square += run.squares[start + held] - run.squares[start]
        mean = total / np.maximum(count, 1)
        return count, mean, np.maximum(square / np.maximum(count, 1) - mean**2, 0.0)

    def medians(self, keys: Keys, as_of: Floats) -> tuple[Floats, Floats]:
        """Return the median of all rows of each key that ended before, and how many these are.

        NaN where there is none. Of more than ``_MANY`` rows, some that lie evenly over the past
        stand for all.

        Examples
        --------
        >>> memory = Memory()
        >>> keys = np.array([1, 1, 1], dtype=np.uint64)
        >>> memory.add(keys, np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0, 100.0]))
        >>> memory.medians(keys[:2], np.array([2.5, np.inf]))
        (array([6., 7.]), array([2., 3.]))
        """
        runs = (self._long, self._short)
        found = [part.tolist() for run in runs for part in run.find(keys, as_of)]
        middle = np.full(len(keys), np.nan)
        # many jobs ask for the same rows
        for row, asked in enumerate(zip(*found, strict=True)):
            start, count, later, more = asked
            if not count + more:
                continue
            if asked not in self._medians:
                stride = 1 + (count + more) // _MANY
                held = (self._long.some(start, start + count, stride),
                        self._short.some(later, later + more, stride))  # fmt: skip
                self._medians[asked] = float(np.median(np.concatenate(held)))
            middle[row] = self._medians[asked]
        return middle, np.array(found[1], dtype=np.float64) + np.array(found[3])

    def _sample(
        self, start: Ints, count: Ints, start_short: Ints | None = None,
        count_short: Ints | None = None,
    ) -> Floats:  # fmt: skip
        """Return values spread evenly over each key's past, in order of size."""
        held = count if count_short is None else count + count_short
        many = (_MIDST * (held[:, None] / SAMPLED)).astype(np.int64)
        place = np.where(held[:, None] <= SAMPLED, _FIRST, many)
        found = self._long.at(start[:, None] + place)
        if start_short is not None:
            # the short run is the newer one, so its rows come after those of the long run
            later = place - count[:, None]
            found = np.where(later < 0, found, self._short.at(start_short[:, None] + later))
        return np.sort(np.where(place < held[:, None], found, np.nan), axis=1)

    def some_keys(self, rows: Ints) -> Keys:
        """Return the keys of some rows, in order of the keys."""
        run = self._long if len(self._long) else self._short
        return run.names[run.first.searchsorted(rows % len(run), side="right") - 1]

    def state(self) -> dict[str, dict[str, Array]]:
        """Return what a file has to hold: rows as they are sorted, so that nobody sorts them."""
        return {"long": self._long.state(), "short": self._short.state()}

    @classmethod
    def of_state(cls, state: Mapping[str, Mapping[str, Array]]) -> Self:
        """Return the memory that :meth:`state` came from."""
        made = cls()
        made._long, made._short = _Run.of_state(state["long"]), _Run.of_state(state["short"])
        return made


def ranked(ends: Floats) -> Ranks:
    """Return what is the same of rows under any keys."""
    moments, rank = np.unique(ends, return_inverse=True)
    return moments, _small(rank), np.argsort(rank, kind="stable")


def _small(places: Ints) -> Array:
    """Return places among fewer rows than 2**31 in half the bytes."""
    return places.astype(np.int32 if len(places) < 2**31 else np.int64)


def _in_order(keys: Keys) -> Ints:
    """Return the rows in order of their keys; few keys are numbered, as small numbers sort fast."""
    if len(keys) < _WORTH_NUMBERING:
        return np.argsort(keys, kind="stable")
    code, names = pd.factorize(keys)
    if len(names) > 2**16:
        return np.argsort(keys, kind="stable")
    number = np.empty(len(names), np.uint16)
    number[np.argsort(names)] = np.arange(len(names))
    return np.argsort(number[code], kind="stable")


def _sums(values: Floats) -> Floats:
    """Return running sums, beginning with nothing."""
    found = np.empty(len(values) + 1)
    found[0] = 0.0
    np.cumsum(values, out=found[1:])
    return found


@dataclass(frozen=True)
class _Run:
    """Rows sorted by key, then end, with what makes searching them quick.

    The first three are the same for all levels of a history.
    """

    #: values in the order in which rows were added
    added: Floats
    #: the ends in their order, and of each row as it was added the number of its end among them
    moments: Floats
    rank: Array
    #: where each row stood when it was added
    order: Array
    #: the keys, where each begins and at last where the last one ends, and the running sums there
    names: Keys
    first: Ints
    totals: Floats

    @classmethod
    def of(cls, keys: Keys, ends: Floats, values: Floats, ranks: Ranks | None = None) -> _Run:
        moments, rank, by_end = ranks or ranked(ends)
        order = by_end[_in_order(keys[by_end])]
        keys = keys[order]
        begins = np.append(np.ones(len(keys[:1]), np.bool_), keys[1:] != keys[:-1])
        first = np.flatnonzero(np.append(begins, True)).astype(np.int64)
        totals = _sums(values[order])[first]
        return cls(values, moments, rank, _small(order), keys[first[:-1]], first, totals)

    def state(self) -> dict[str, Array]:
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def of_state(cls, state: Mapping[str, Array]) -> _Run:
        made = cls(**state)
        rows, kinds = len(made), len(made.names)
        if not (
            {len(made.added), len(made.rank)} == {rows}
            and {len(made.first), len(made.totals)} == {kinds + 1}
            and made.first[-1] == rows
        ):
            raise ModelFileError("what it remembers of finished jobs does not fit together")
        return made

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def sums(self) -> Floats:
        """Running sums of the values; a key that is asked for as a whole needs no others."""
        return _sums(self.added[self.order])

    @cached_property
    def squares(self) -> Floats:
        """Running sums of the squared values."""
        return _sums(self.added[self.order] ** 2)

    def as_added(self) -> Rows:
        """Return keys, ends and values in the order in which they were added."""
        keys = np.empty(len(self), np.uint64)
        keys[self.order] = np.repeat(self.names, np.diff(self.first))
        return keys, self.moments[self.rank], self.added

    def joined(self, other: _Run) -> _Run:
        if len(self) == 0:
            return other
        if len(other) == 0:
            return self
        pairs = zip(self.as_added(), other.as_added(), strict=True)
        keys, ends, values = (np.concatenate(pair) for pair in pairs)
        return _Run.of(keys, ends, values)

    def find(self, keys: Keys, as_of: Floats) -> tuple[Ints, Ints]:
        """Return where the rows of each key begin and how many ended before each moment."""
        if len(self) == 0:
            nothing = np.zeros(len(keys), np.int64)
            return nothing, nothing
        code = np.minimum(self.names.searchsorted(keys), len(self.names) - 1)
        # strictly before: an outcome of the very moment is not known yet
        rank = self.moments.searchsorted(as_of, side="left")
        start, until = self.first[code], self.first[code + 1]
        early = np.flatnonzero(rank < len(self.moments))
        if len(early):
            until[early] = self._reached(start[early], until[early], rank[early])
        return start, np.where(self.names[code] == keys, until - start, 0)

    def _reached(self, low: Ints, high: Ints, rank: Ints) -> Ints:
        """Return the first place between two whose end is not before the one of that rank."""
        for _ in range(int((high - low).max()).bit_length()):
            middle = (low + high) >> 1
            # where both have met, the row may be the next key's
            before = self.rank.take(self.order.take(middle, mode="clip")) < rank
            before &= low < high
            low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
        return low

    def total(self, start: Ints, count: Ints) -> Floats:
        """Return the sum of the first ``count`` values of each key."""
        if len(self) == 0:
            return np.zeros(len(start))
        begin, end = (self.first.searchsorted(place) for place in (start, start + count))
        if (self.first[end] == start + count).all():
            return np.asarray(self.totals[end] - self.totals[begin])
        return np.asarray(self.sums[start + count] - self.sums[start])

    def latest(self, start: Ints, count: Ints) -> Floats:
        """Return the latest values, latest first, NaN where there are fewer."""
        back = count[:, None] - _BACK
        return np.where(back >= 0, self.at(start[:, None] + back), np.nan)

    def latest_ends(self, start: Ints, count: Ints) -> Floats:
        """Return the ends of the latest values, latest first, NaN where there are fewer."""
        back = count[:, None] - _BACK
        return np.where(back >= 0, self._ends_at(start[:, None] + back), np.nan)

    def newest(self, start: Ints, count: Ints) -> Floats:
        """Return the end of the latest value, NaN where there is none."""
        return np.where(count > 0, self._ends_at(start + count - 1), np.nan)

    def some(self, begin: int, end: int, stride: int) -> Floats:
        """Return every so many values between two places."""
        return self.added[self.order[begin:end:stride]]

    def at(self, index: Ints) -> Floats:
        """Return the values at places that may lie outside."""
        if len(self) == 0:
            return np.full(index.shape, np.nan)
        return np.asarray(self.added.take(self.order.take(index, mode="clip")))

    def _ends_at(self, index: Ints) -> Floats:
        if len(self) == 0:
            return np.full(index.shape, np.nan)
        rank = self.rank.take(self.order.take(index, mode="clip"))
        return np.asarray(self.moments.take(rank))
