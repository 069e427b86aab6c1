"""What a decision can see: summaries of the samples of its run before it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from prophase.phase.scale.fleet import Fleet, Floats


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
    sums = np.concatenate([[0.0], np.cumsum(values)])
    last = fleet.first_sample
    count = np.minimum(fleet.age, window)
    return np.where(count > 0, (sums[last] - sums[last - count]) / np.maximum(count, 1), 0.0)


def startup_level(fleet: Fleet, share: float) -> float:
    """Return what a new run is given before anything is known of it.

    It is what this share of the first samples of past runs stayed at or below.
    """
    first = np.repeat(fleet.age == 0, fleet.block_length)
    return float(np.quantile(fleet.use[first], share))
