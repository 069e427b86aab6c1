"""Which phase comes next, and when? Learnt from stays and what followed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prophase.phase.series import Ints
from prophase.phase.stays import stays_of

#: stays with the same phase before it that are needed to look two phases back
_ENOUGH = 5


@dataclass(frozen=True)
class Forecast:
    """What is expected while a phase lasts."""

    next_phase: int
    #: how often that one came next under the same circumstances
    probability: float
    #: samples until the change: median, and the bounds of four stays out of five
    remaining: float
    remaining_low: float
    remaining_high: float


@dataclass(frozen=True)
class NextPhase:
    """How stays followed each other.

    Attributes
    ----------
    pairs : array (n, 4)
        Each whole stay with a successor: phase before (-1 if none), phase, samples, next phase.
    n_phases : int
        Number of phases.
    """

    pairs: Ints
    n_phases: int

    def forecast(self, phase: int, *, elapsed: int = 0, before: int = -1) -> Forecast | None:
        """Return what comes after a phase, and when; None if unknown.

        Parameters
        ----------
        elapsed : int
            Samples of this stay before the present one: 0 at the sample that entered the phase.
        before : int
            The phase before this one, if known; used where it was seen often enough.
        """
        same = self.pairs[self.pairs[:, 1] == phase]
        twice = same[same[:, 0] == before] if before >= 0 else same[:0]
        if len(twice) >= _ENOUGH:
            same = twice
        longer = same[same[:, 2] > elapsed]
        # a stay longer than any before ends, as far as is known, any moment
        ahead = longer if len(longer) else same
        if len(same) == 0:
            return None
        counts = np.bincount(ahead[:, 3], minlength=self.n_phases)
        left = np.maximum(longer[:, 2] - elapsed, 1) if len(longer) else np.array([1])
        low, middle, high = np.quantile(left, (0.1, 0.5, 0.9))
        return Forecast(
            int(counts.argmax()),
            float(counts.max() / counts.sum()),
            float(middle),
            float(low),
            float(high),
        )


def learn_next(labels: Sequence[Ints], n_phases: int) -> NextPhase:
    """Learn which phase follows which, after how long.

    Examples
    --------
    >>> model = learn_next([np.repeat([0, 1, 0, 1, 2], 10)], 3)
    >>> model.forecast(0, elapsed=4)
    Forecast(next_phase=1, probability=1.0, remaining=6.0, remaining_low=6.0, remaining_high=6.0)
    """
    stays = stays_of(labels)
    same = np.append(stays.series[:-1] == stays.series[1:], False) & stays.whole
    place = np.flatnonzero(same)
    follows = (place > 0) & (stays.series[np.maximum(place - 1, 0)] == stays.series[place])
    before = np.where(follows, stays.phase[np.maximum(place - 1, 0)], -1)
    pairs = [
        before,
        stays.phase[place],
        stays.samples[place],
        stays.phase[np.minimum(place + 1, len(stays.phase) - 1)],
    ]
    return NextPhase(np.array(pairs, dtype=np.int64).T.reshape(-1, 4), n_phases)
