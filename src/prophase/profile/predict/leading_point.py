"""Which number is told: the leader of several, by what they were worth on earlier jobs.

The back-off median is a rule that needs no learning, and leads. Another number is told in its place
where it has proved better: where the gain over the earlier jobs of the same stratum is larger
than chance allows, and no single measure (within a factor of two, within 20 %, squared error)
got worse. Of run times that number is the one that the distribution finds most useful, of the
back-off median and two of its own, or the median of the latest jobs. Of a job that is like none
before, the distribution may be that of another world, and where no earlier part of the history
could be judged, since no job had ended before the others came, nothing has shown what it is worth:
there the back-off median stays.
How often this keeps up with the better of back-off and global median is measured by
``benchmarks/quality/prediction.py --part ahead``.

What jobs use repeats more than how long they run: there the *trusted* number leads of a job whose
like was seen, the back-off median where enough of the distribution lies around it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Floats, Ints
from prophase.profile.predict.point_and_range import KINDS

#: the back-off median, and what takes its place: where like jobs were not alike, or, of run times,
#: where the distribution finds another number more useful
SIMPLE, TRUSTED = 0, 1
#: of these kinds of jobs another anchor may lead until a number proves better
_KNOWN = ("seen", "partly")
#: jobs of a block: neighbours in time are alike, so only means of blocks count as independent
_BLOCK = 25
_FEWEST_BLOCKS = 3
#: after so many jobs a gain counts half
_HALF_LIFE = 2_000.0
#: standard errors by which a gain has to exceed nothing: while outcomes come in, and long after,
#: where nothing will correct the choice: there the share within a factor of two, less as many of
#: its own, must not have fallen either
_SURE, _STALE_SURE = 1.5, 1.0
#: what within a factor of two, within 20 % and the squared error (in variances) are worth
_WORTH = np.array([1.0, 0.5, 0.5])
#: how much worse than the anchor a leader may be in each of them
_WORST = np.array([-0.005, -0.01, -0.01])
#: a squared error counts at most as this many variances
_FARTHEST = 9.0
#: jobs that are looked at together; bounds the memory
_BATCH = 2_000


def gains(points: Floats, values: Floats, variance: float) -> Floats:
    """Return per job, number and measure what the number was worth beyond the simple one."""
    worth = _worths(points[:, None, :], values[:, None, None], variance)[:, 0]
    return np.asarray(worth - worth[:, [SIMPLE]])


def most_useful(points: Floats, steps: Floats, variance: float) -> Floats:
    """Return of several numbers the one that equally likely outcomes make most useful; ties: first.

    Examples
    --------
    >>> steps = np.log(np.array([[60.0, 60.0, 60.0, 3600.0]]))
    >>> np.exp(most_useful(np.log(np.array([[400.0, 60.0]])), steps, 4.0)).round().tolist()
    [60.0]
    """
    found = np.empty(len(points))
    for first in range(0, len(points), _BATCH):
        part = slice(first, first + _BATCH)
        worth = _worths(points[part, None, :], steps[part, :, None], variance).mean(axis=1)
        best = np.argmax(worth @ _WORTH, axis=1)
        found[part] = np.take_along_axis(points[part], best[:, None], axis=1)[:, 0]
    return found


def _worths(points: Floats, values: Floats, variance: float) -> Floats:
    """Return what numbers are worth by each measure if these are the outcomes."""
    miss = points - values
    return np.stack(
        [
            np.abs(miss) <= np.log(2.0) + 1e-9,
            # within 20 % of the outcome
            (miss >= np.log(0.8)) & (miss <= np.log(1.2)),
            -np.minimum(miss**2 / variance, _FARTHEST),
        ],
        axis=-1,
    ).astype(np.float64)  # fmt: skip


class _Race:
    """Means over blocks of jobs of one stratum, the recent ones counting more."""

    def __init__(self, anchor: int) -> None:
        self.anchor = anchor
        self.waiting = np.empty(0)
        self.total = self.square = self.useful = np.zeros(1)
        self.count = self.count_of_squares = 0.0
        #: who has led, the anchor first, and since when the others do
        self.leader = np.array([anchor])
        self.since = np.empty(0)

    def add(self, gain: Floats, known: float) -> None:
        gain = gain - gain[self.anchor]
        self.waiting = np.concatenate([self.waiting.reshape(-1, *gain.shape), gain[None]])
        if len(self.waiting) < _BLOCK:
            return
        mean = self.waiting.mean(axis=0)
        self.waiting = self.waiting[:0]
        fade = 0.5 ** (_BLOCK / _HALF_LIFE)
        self.total = fade * self.total + mean
        self.square = fade * self.square + (mean @ _WORTH) ** 2
        self.useful = fade * self.useful + mean[:, 0] ** 2
        self.count = fade * self.count + 1
        self.count_of_squares = fade**2 * self.count_of_squares + 1
        self.since = np.append(self.since, known)
        mean, error, _ = self.known()
        leads = len(self.since) >= _FEWEST_BLOCKS
        leader = _leader(mean, _SURE * error, self.anchor) if leads else self.anchor
        self.leader = np.append(self.leader, leader)

    def known(self) -> tuple[Floats, Floats, Floats]:
        """Return the mean gains of each number beyond the anchor, the error of their worth, and of
        the share within a factor of two.
        """
        mean = self.total / self.count
        worth, useful = (
            np.sqrt(np.maximum(square / self.count - centre**2, 1e-6) * self.count_of_squares)
            / self.count
            for square, centre in ((self.square, mean @ _WORTH), (self.useful, mean[:, 0]))
        )
        return mean, worth, useful


def _leader(gain: Floats, doubt: Floats, anchor: int, useful_doubt: float | Floats = 0.0) -> int:
    """Return the number that is best beyond doubt and worse in nothing, else the anchor."""
    no_worse = (gain >= _WORST).all(axis=1) & (gain[:, 0] - useful_doubt >= _WORST[0])
    least = np.where(no_worse, gain @ _WORTH - doubt, -1.0)
    # of equals the anchor leads
    least[anchor] = 1e-9
    return int(np.argmax(least))


def _error_of_mean(means: Floats, errors: Floats) -> Floats:
    """Return the error of the mean over folds: by blocks within them, at least as they differ."""
    error = np.sqrt((errors**2).sum(axis=0))
    if len(means) > 1:
        error = np.maximum(error, np.std(means, axis=0, ddof=1) * np.sqrt(len(means)))
    return np.asarray(error / len(means))


class LeadingPoint:
    """Which of several numbers leads, per stratum, as of any moment.

    Examples
    --------
    >>> held = LeadingPoint()
    >>> values, seen = np.zeros(200), np.full(200, "seen")
    >>> points = np.column_stack([values + 2.0, values])
    >>> held.add(gains(points, values, 4.0), seen, np.arange(200.0))
    >>> held.leaders(seen[:2], np.array([10.0, np.inf])).tolist()
    [0, 1]
    """

    def __init__(self, anchor: int = SIMPLE) -> None:
        anchors = {kind: anchor if kind in _KNOWN else SIMPLE for kind in KINDS}
        self._races = {kind: _Race(first) for kind, first in anchors.items()}
        self._settled = dict(anchors)
        self._newest = -np.inf

    def settle(self, folds: Sequence[tuple[Floats, NDArray[np.str_]]]) -> None:
        """Choose whom to follow long after the last outcome: who was better in all folds together.

        How much folds differ counts as doubt. A job that nothing in the history is like may come
        from another world, where what was learnt here can be far off, and no fold of this history
        can tell: the back-off median leads.
        """
        for kind in (kind for kind in KINDS if kind != "new"):
            found, anchor = [], self._races[kind].anchor
            for gain, stratum in folds:
                race = _Race(anchor)
                for row in np.flatnonzero(stratum == kind).tolist():
                    race.add(gain[row], 0.0)
                if len(race.since) >= _FEWEST_BLOCKS:
                    found.append(race.known())
            if found:
                means, *errors = (np.array(part) for part in zip(*found, strict=True))
                doubt, useful_doubt = (
                    _STALE_SURE * _error_of_mean(*both)
                    for both in zip((means @ _WORTH, means[..., 0]), errors, strict=True)
                )
                self._settled[kind] = _leader(means.mean(axis=0), doubt, anchor, useful_doubt)

    def add(self, gain: Floats, stratum: NDArray[np.str_], end: Floats) -> None:
        """Let outcomes count, in the order in which they became known."""
        for row in np.argsort(end, kind="stable").tolist():
            self._newest = max(self._newest, float(end[row]))
            self._races[str(stratum[row])].add(gain[row], self._newest)

    def leaders(
        self, stratum: NDArray[np.str_], as_of: Floats, *, stale: bool = False
    ) -> Ints:  # fmt: skip
        """Return the place of the number that leads for each job."""
        found = np.zeros(len(stratum), dtype=np.int64)
        for kind in np.unique(stratum).tolist():
            rows = np.flatnonzero(stratum == kind)
            race = self._races[kind]
            if stale:
                found[rows] = self._settled[kind]
            else:
                step = np.searchsorted(race.since, as_of[rows], side="left")
                found[rows] = race.leader[step]
        return found
