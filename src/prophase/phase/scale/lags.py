"""What boosted trees are told about a run before each decision."""

from __future__ import annotations

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
    #: (decisions, features) without a unit: lows, largest step, restlessness, age
    manner: Floats
    #: (decisions,) what the others are relative to
    scale: Floats


def lags(fleet: Fleet, floor: float) -> Lags:
    """Return the lags of a fleet; ``floor`` keeps ratios of idle runs within reason."""
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
    return Lags(np.maximum(np.column_stack(levels), floor), np.column_stack(manner), scale)
