"""Phases as a policy sees them: a label per sample, from that sample and those before it."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from prophase.phase.scale.fleet import Fleet, Ints
from prophase.phase.scale.past import windowed


class Labeller(Protocol):
    """Whatever tells phases apart without looking ahead."""

    #: labels are 0 .. phases - 1
    phases: int

    def fit(self, fleet: Fleet) -> Self:
        """Learn the phases from fit series."""
        ...

    def labels(self, fleet: Fleet) -> Ints:
        """Return the phase of each sample."""
        ...


class LevelTrend:
    """Tell phases apart by how restless use is, where in its range it lies, and if it rises.

    Nothing is learnt, so a series of a kind never seen before gets labels as good as any other.

    Examples
    --------
    >>> steady = Fleet.of_runs([[4.0] * 9])
    >>> sorted(set(LevelTrend().labels(steady).tolist()))
    [4]
    """

    phases = 18

    def __init__(self, *, window: int = 80) -> None:
        self.window = window

    def fit(self, fleet: Fleet) -> Self:
        return self

    def labels(self, fleet: Fleet) -> Ints:
        high = windowed(fleet, self.window)
        low = windowed(fleet, self.window, np.minimum)
        before = windowed(fleet, 3, np.minimum)
        scale = np.maximum(high, 1e-12)
        spread = (high - low) / scale
        restless = np.digitize(spread, (0.02, 0.2))
        place = np.where(spread > 0.002, (fleet.use - low) / np.maximum(high - low, 1e-12), 1.0)
        level = np.digitize(place, (0.25, 0.75))
        rising = (fleet.use - before) / scale > 0.01
        # calm series get labels 0 to 5, moving ones 6 to 11, restless ones 12 to 17
        found: Ints = ((restless * 3 + level) * 2 + rising).astype(np.int64)
        return found
