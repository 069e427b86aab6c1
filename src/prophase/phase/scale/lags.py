"""What boosted trees are told about a run before each decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prophase.phase.scale.fleet import Fleet, Floats
from prophase.phase.scale.past import before, recent_low, recent_mean, recent_peak, windowed

#: in decisions
_PEAKS = (1, 2, 4, 8, 16, 32, 64)
_MEANS = (1, 4, 16)


@dataclass(frozen=True)
class Lags:
    """Levels of recent use, and how a run moves; a row per decision."""

    #: (decisions, levels) in the metric's unit: last use, recent maxima, recent means
    levels: Floats
    #: (decisions, features) lows, largest step, restlessness and age, none with a unit; and how
    #: other metrics moved, in theirs, NaN where that is not known
    manner: Floats
    #: (decisions,) what the others are relative to
    scale: Floats


def lags(fleet: Fleet, floor: float, others: Sequence[str] = ()) -> Lags:
    """Return the lags of a fleet; ``floor`` keeps ratios of idle runs within reason.

    ``others`` are further metrics to look at. What a container computes or reads announces what
    it will need: GPU memory rarely grows while the GPU is idle.
    """
    every = fleet.every
    place = np.arange(fleet.samples) - np.repeat(fleet.run_start, fleet.lengths)
    step = np.where(place > 0, np.diff(fleet.use, prepend=0.0), 0.0)
    high = windowed(fleet, 16 * every)
    moved = (np.abs(step) > 0.01 * np.maximum(high, floor)).astype(np.float64)
    largest = np.asarray(before(fleet, windowed(fleet, 16 * every, values=step)), np.float64)
    scale = np.maximum(recent_peak(fleet, 8 * every), floor)
    levels = [np.where(fleet.age > 0, np.asarray(before(fleet, fleet.use), np.float64), 0.0)]
    levels += [recent_peak(fleet, decisions * every) for decisions in _PEAKS]
    levels += [recent_peak(fleet, int(fleet.lengths.max()))]
    levels += [recent_mean(fleet, decisions * every) for decisions in _MEANS]
    manner = [recent_low(fleet, decisions * every) / scale for decisions in _MEANS]
    manner += [
        largest / scale,
        recent_mean(fleet, 8 * every, moved),
        recent_mean(fleet, 64 * every, moved),
        np.log1p(fleet.age),
    ]
    for name in others:
        manner += _moves(fleet, fleet.others.get(name))
    return Lags(np.maximum(np.column_stack(levels), floor), np.column_stack(manner), scale)


def _moves(fleet: Fleet, values: Floats | None) -> list[Floats]:
    """Return how another metric moved before each decision: now, means, peaks, and the change."""
    if values is None:
        return [np.full(fleet.decisions, np.nan)] * 6
    every, known = fleet.every, np.isfinite(values)

    def mean(window: int) -> Floats:
        total = recent_mean(fleet, window, np.where(known, values, 0.0))
        share = recent_mean(fleet, window, known.astype(np.float64))
        return np.where(share > 0, total / np.maximum(share, 1e-12), np.nan)

    def peak(window: int) -> Floats:
        highest = windowed(fleet, window, values=np.where(known, values, -np.inf))
        found = np.asarray(before(fleet, highest), np.float64)
        return np.where(np.isfinite(found) & (fleet.age > 0), found, np.nan)

    now = np.where(fleet.age > 0, np.asarray(before(fleet, values), np.float64), np.nan)
    change = mean(2) - mean(4 * every)
    return [now, mean(every), mean(8 * every), peak(2 * every), peak(32 * every), change]
