"""Which phases are one? Join too many of them, two by two, until telling them apart pays.

Containers of one service differ in size, and a criterion that pools them takes a larger container
for another phase, the more samples the surer. So two phases are told apart by the series that go
through both: each is written down with levels and movements of its own, once with the two phases
and once with them joined, and what the distinction saves must be more than it costs. Phases that no
series has both of are joined if they differ less than phases do inside a series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from prophase.phase.labelling_scores import description_bits
from prophase.trace.series.usage_series import Floats, Ints

#: bits by which one labelling must be worse than another to be ruled out
_DOUBT_BITS = 10.0
#: samples of a phase in a series without which the series says nothing about it
_LEAST_SAMPLES = 5
#: series that a standard error of the difference needs
_LEAST_SERIES = 4


@dataclass(frozen=True)
class JoinedPhases:
    """So many phases, what series take with them, and who is in which."""

    n_phases: int
    #: bits of each series, with levels and movements of its own
    bits: Floats
    #: bits lost by joining phases that no series has both of, and samples of all series
    lost: float
    samples: int
    #: phase per sample of each stretch, numbered from 0
    labels: tuple[Ints, ...]

    @property
    def bits_per_sample(self) -> float:
        return float((self.bits.sum() + self.lost) / max(self.samples, 1))


def as_good(bits: Floats, best: Floats) -> bool:
    """Say whether series cannot tell a labelling from the best one, by the bits of each series.

    Examples
    --------
    >>> as_good(np.array([105.0]), np.array([100.0])), as_good(np.array([150.0]), np.array([100.0]))
    (True, False)
    """
    more = bits - best
    # what differs between series alone takes the same bits in each of them
    if np.allclose(more, 0.0, atol=1e-6):
        return False
    margin = _DOUBT_BITS
    if len(more) >= _LEAST_SERIES:
        margin = max(margin, float(more.std(ddof=1)) * len(more) ** 0.5)
    return bool(more.sum() < margin)


def bits_by_series(
    stretches: Sequence[Floats], labels: Sequence[Ints], series: Sequence[int] | Ints | None = None
) -> Floats:
    """Return the bits that each series takes with these labels, with parameters of its own."""
    return _Joining(stretches, labels, series).bits


def join(
    stretches: Sequence[Floats], labels: Sequence[Ints], series: Sequence[int] | Ints | None = None
) -> list[JoinedPhases]:
    """Return what remains while the two phases whose distinction saves least are joined.

    Parameters
    ----------
    stretches : sequence of arrays (n, metrics)
        Scaled, uninterrupted values.
    labels : sequence of arrays (n,)
        Phase of each sample, rather too many; below 0 for none.
    series : sequence of int, optional
        Series that each stretch belongs to; each is a series of its own if not given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> phase = np.repeat([0, 1, 0, 2], 50)
    >>> values = (3.0 * (phase > 0) + rng.normal(0, 0.1, 200))[:, None]
    >>> [(one.n_phases, round(one.bits_per_sample, 1)) for one in join([values], [phase])]
    [(3, -0.8), (2, -0.9), (1, 0.8)]
    """
    return _Joining(stretches, labels, series).path()


class _Joining:
    """The phases that are left, and what each pair of them saves."""

    def __init__(
        self,
        stretches: Sequence[Floats],
        labels: Sequence[Ints],
        series: Sequence[int] | Ints | None,
    ) -> None:
        of = np.arange(len(stretches)) if series is None else np.asarray(series)
        names = np.unique(of)
        self.places = [np.flatnonzero(of == name) for name in names]
        self.stretches = list(stretches)
        self.labels = [one.copy() for one in labels]
        self.states = sorted({int(n) for one in labels for n in np.unique(one) if n >= 0})
        self.bits = np.array([self._written(place, self.labels) for place in self.places])
        self.lost = 0.0
        self.saved: dict[tuple[int, int], tuple[float, bool]] = {}
        self.apart: dict[tuple[int, int], float] = {}

    def path(self) -> list[JoinedPhases]:
        found = [self._now()]
        while len(self.states) > 1:
            one, other, pooled = self._cheapest()
            self._join(one, other, pooled)
            found.append(self._now())
        return found

    def _now(self) -> JoinedPhases:
        number = {state: place for place, state in enumerate(self.states)}
        to = np.array([number.get(n, -1) for n in range(max(self.states, default=0) + 1)])
        labels = tuple(np.where(one >= 0, to[one], -1) for one in self.labels)
        samples = sum(int((one >= 0).sum()) for one in labels)
        return JoinedPhases(len(self.states), self.bits.copy(), self.lost, samples, labels)

    def _written(self, place: Ints, labels: Sequence[Ints]) -> float:
        """Return the bits of one series with parameters of its own."""
        own = [labels[n] for n in place]
        known = np.concatenate(own)
        present = np.unique(known[known >= 0])
        if len(present) == 0:
            return 0.0
        close = [np.where(one >= 0, np.searchsorted(present, one), -1) for one in own]
        bits = description_bits([self.stretches[n] for n in place], close)
        return 0.0 if np.isnan(bits) else bits * sum(int((one >= 0).sum()) for one in own)

    def _with_joined(self, place: Ints, one: int, other: int) -> float:
        joined = {n: np.where(self.labels[n] == other, one, self.labels[n]) for n in place}
        return self._written(place, [joined.get(n, _NONE) for n in range(len(self.labels))])

    def _cheapest(self) -> tuple[int, int, float]:
        """Return the pair to join next, and the bits that joining costs beyond single series."""
        for pair in combinations(self.states, 2):
            if pair not in self.saved:
                self.saved[pair] = self._saving(*pair)
                self.apart[pair] = self._distance(*pair)
        proven = {
            pair: self.apart[pair]
            for pair in combinations(self.states, 2)
            if self.saved[pair][1] and self.saved[pair][0] > 0
        }
        best: tuple[float, float, int, int, float] | None = None
        for one, other in combinations(self.states, 2):
            saving, together = self.saved[one, other]
            pooled = 0.0
            if not together and not self._near(one, other, proven):
                saving = pooled = self._pooled(one, other)
            key = (saving, self.apart[one, other], one, other, pooled)
            if best is None or key < best:
                best = key
        assert best is not None
        return best[2], best[3], best[4]

    def _saving(self, one: int, other: int) -> tuple[float, bool]:
        """Return the bits saved by telling two phases apart, and whether any series has both."""
        total, together = 0.0, False
        for number, place in enumerate(self.places):
            held = np.concatenate([self.labels[n] for n in place])
            if min((held == one).sum(), (held == other).sum()) >= _LEAST_SAMPLES:
                together = True
                total += self._with_joined(place, one, other) - self.bits[number]
        return total, together

    def _near(self, one: int, other: int, proven: dict[tuple[int, int], float]) -> bool:
        """Say whether two phases differ less than those that one series goes through."""
        own = [gap for pair, gap in proven.items() if one in pair or other in pair]
        return bool(proven) and self.apart[one, other] < min(own or proven.values())

    def _pooled(self, one: int, other: int) -> float:
        """Return the bits saved by telling two phases apart, all series with one set of levels."""
        close = self._now().labels
        places = self.states.index(one), self.states.index(other)
        joined = [np.where(each == places[1], places[0], each) for each in close]
        samples = sum(int((each >= 0).sum()) for each in close)
        before = description_bits(self.stretches, close)
        return (description_bits(self.stretches, joined) - before) * samples

    def _distance(self, one: int, other: int) -> float:
        """Return how far two phases are from each other in level, spread and movement.

        Bhattacharyya's distance of normal distributions, metric by metric.
        """
        first, second = (self._moments(state) for state in (one, other))
        total = 0.0
        for (mean, variance), (far, wide) in zip(first, second, strict=True):
            both = variance + wide
            total += float((0.25 * (mean - far) ** 2 / both).sum())
            total += float((0.5 * np.log(both / (2 * np.sqrt(variance * wide)))).sum())
        return total

    def _moments(self, state: int) -> list[tuple[Floats, Floats]]:
        """Return mean and variance of the samples of a phase, and of the steps between them."""
        inside = [one[held == state] for one, held in zip(self.stretches, self.labels, strict=True)]
        steps = [
            np.diff(one, axis=0)[(held[1:] == state) & (held[:-1] == state)]
            for one, held in zip(self.stretches, self.labels, strict=True)
        ]
        found = []
        for values in (np.concatenate(inside), np.concatenate(steps)):
            if len(values) == 0:
                values = np.zeros((1, self.stretches[0].shape[1]))
            found.append((values.mean(axis=0), values.var(axis=0) + 1e-3))
        # movement is a matter of spread alone
        return [found[0], (np.zeros_like(found[1][0]), found[1][1])]

    def _join(self, one: int, other: int, pooled: float) -> None:
        for held in self.labels:
            held[held == other] = one
        self.states.remove(other)
        self.lost += pooled
        self.bits = np.array([self._written(place, self.labels) for place in self.places])
        for pair in [pair for pair in self.saved if one in pair or other in pair]:
            del self.saved[pair]


_NONE = np.zeros(0, dtype=np.int64)
