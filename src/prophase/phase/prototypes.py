"""A few executions that stand for most: their sequences of phases are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prophase.json_types import JsonObject
from prophase.phase.stays import stays_of
from prophase.trace.series.usage_series import Ints

#: sequences longer than this are compared by their beginning
_MOST_STAYS = 200
#: phases of a sequence that are written out
_SHOWN = 12
#: executions that are compared with each other at most
_MOST_SERIES = 400


@dataclass(frozen=True)
class Prototype:
    """One execution, and those that run like it."""

    #: number of the series
    series: int
    #: its phases in order
    phases: tuple[int, ...]
    #: numbers of the series that it stands for, its own among them
    stands_for: tuple[int, ...]


@dataclass(frozen=True)
class Prototypes:
    """Prototypes, the one that stands for most first."""

    prototypes: tuple[Prototype, ...]
    series: int

    def covered(self, count: int) -> float:
        """Return the share of executions that the first so many prototypes stand for."""
        return sum(len(one.stands_for) for one in self.prototypes[:count]) / max(self.series, 1)

    def rows(self, series_ids: Sequence[str]) -> list[JsonObject]:
        """Return a row per prototype: whose it is, its phases in order, how many run like it."""
        return [
            {
                "prototype": number,
                "series_id": series_ids[one.series],
                "executions": len(one.stands_for),
                "share_pct": 100 * len(one.stands_for) / max(self.series, 1),
                "phases": in_order(one.phases),
            }
            for number, one in enumerate(self.prototypes)
        ]

    def sentence(self, share: float = 0.8) -> str:
        """Say how few prototypes stand for a share of the executions."""
        count = next(
            (n for n in range(1, len(self.prototypes) + 1) if self.covered(n) >= share),
            len(self.prototypes),
        )
        return (
            f"{count} {'prototype covers' if count == 1 else 'prototypes cover'} "
            f"{100 * self.covered(count):.0f} % of {self.series:,} executions"
        )


def in_order(phases: Sequence[int]) -> str:
    """Write phases in order; a long sequence by its beginning.

    Examples
    --------
    >>> in_order([0, 2, 1])
    '0 2 1'
    """
    shown = " ".join(map(str, phases[:_SHOWN]))
    more = len(phases) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def prototypes_of(labels: Sequence[Ints], *, alike: float = 0.25) -> Prototypes:
    """Return executions that stand for others, most first, until all are covered.

    Parameters
    ----------
    labels : sequence of arrays
        Phases of each execution.
    alike : float, default=0.25
        Two executions are alike if at most this share of the longer sequence of phases has to
        be changed to get the other.

    Examples
    --------
    >>> runs = [np.repeat([0, 1, 2], 9), np.repeat([0, 1, 2], 5), np.repeat([2, 0], 7)]
    >>> found = prototypes_of(runs)
    >>> found.prototypes[0].phases, found.sentence(0.6)
    ((0, 1, 2), '1 prototype covers 67 % of 3 executions')
    """
    sequences = [tuple(stays_of([one]).phase[:_MOST_STAYS].tolist()) for one in labels]
    sequences = sequences[:_MOST_SERIES]
    distinct = sorted(set(sequences))
    number = {sequence: place for place, sequence in enumerate(distinct)}
    near = np.eye(len(distinct), dtype=bool)
    for a in range(len(distinct)):
        for b in range(a + 1, len(distinct)):
            near[a, b] = near[b, a] = _alike(distinct[a], distinct[b], alike)
    kind = np.array([number[sequence] for sequence in sequences])
    left = np.ones(len(sequences), dtype=bool)
    found = []
    while left.any():
        weight = np.bincount(kind[left], minlength=len(distinct))
        best = int((near @ weight).argmax())
        if weight[best] == 0:
            best = int(np.argmax(near[best] * weight))
        members = np.flatnonzero(left & near[best][kind])
        own = int(np.flatnonzero(kind == best)[0])
        found.append(Prototype(own, distinct[best], tuple(members.tolist())))
        left[members] = False
    return Prototypes(tuple(found), len(sequences))


def _alike(one: tuple[int, ...], other: tuple[int, ...], share: float) -> bool:
    longer = max(len(one), len(other), 1)
    if abs(len(one) - len(other)) > share * longer:
        return False
    return _edits(one, other) <= share * longer


def _edits(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Return the fewest insertions, removals and changes that turn one into the other."""
    before = np.arange(len(other) + 1)
    target = np.array(other)
    for place, phase in enumerate(one, start=1):
        # insertions reach along the row; a running minimum does them all at once
        row = np.empty_like(before)
        row[0] = place
        row[1:] = np.minimum(before[1:] + 1, before[:-1] + (target != phase))
        steps = np.arange(len(row))
        before = np.minimum.accumulate(row - steps) + steps
    return int(before[-1])
