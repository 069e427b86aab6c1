"""What a decision can see of its run: summaries and lags of the samples before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophase.autoscale.fleet import Fleet, Floats


def windowed(
    fleet: Fleet,
    window: int,
    combine: Callable[[Floats, Floats], Floats] = np.maximum,
    values: Floats | None = None,
) -> Floats:
    """Return, per sample, a summary of the last ``window`` samples of its run, itself included.

    ``combine`` joins two overlapping windows, as maximum and minimum can. Doubling the window
    takes a few passes over the fleet, whatever its length.
    """
    place = np.arange(fleet.samples) - np.repeat(fleet.run_start, fleet.lengths)
    result, span = (fleet.use if values is None else values), 1
    while span < window:
        back = min(span, window - span)
        earlier = np.empty_like(result)
        earlier[back:], earlier[:back] = result[:-back], result[:back]
        result = np.where(place >= back, combine(result, earlier), result)
        span += back
    return result


def before(fleet: Fleet, per_sample: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return what was known per sample right before each decision; at a start, of no meaning."""
    return per_sample[np.maximum(fleet.first_sample - 1, 0)]


def recent_peak(fleet: Fleet, window: int) -> Floats:
    """Return the highest use of the last ``window`` samples before each decision; 0 at a start.

    Examples
    --------
    >>> fleet = Fleet.of_runs([[1.0, 5.0, 2.0, 3.0, 1.0, 1.0]], every=2)
    >>> recent_peak(fleet, 2).tolist(), recent_peak(fleet, 4).tolist()
    ([0.0, 5.0, 3.0], [0.0, 5.0, 5.0])
    """
    peak = np.asarray(before(fleet, windowed(fleet, window)), np.float64)
    return np.where(fleet.age > 0, peak, 0.0)


def recent_low(fleet: Fleet, window: int) -> Floats:
    """Return the lowest use of the last ``window`` samples before each decision; 0 at a start."""
    low = np.asarray(before(fleet, windowed(fleet, window, np.minimum)), np.float64)
    return np.where(fleet.age > 0, low, 0.0)


def recent_mean(fleet: Fleet, window: int, values: Floats | None = None) -> Floats:
    """Return the mean of the last ``window`` samples before each decision; 0 at a start."""
    values = fleet.use if values is None else values
    # sums start anew with each run, so that a run's means do not depend on the runs before it
    sums = np.empty(fleet.samples)
    for run in fleet.runs():
        np.cumsum(values[run], out=sums[run])
    count = np.minimum(fleet.age, window)
    last, first = fleet.first_sample - 1, fleet.first_sample - 1 - count
    total = sums[np.maximum(last, 0)]
    earlier = np.where(fleet.age > count, sums[np.maximum(first, 0)], 0.0)
    return np.where(count > 0, (total - earlier) / np.maximum(count, 1), 0.0)


def startup_level(fleet: Fleet, share: float) -> float:
    """Return what a new run is given before anything is known of it.

    It is what this share of the first samples of past runs stayed at or below.
    """
    first = np.repeat(fleet.age == 0, fleet.block_length)
    return float(np.quantile(fleet.use[first], share))


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
