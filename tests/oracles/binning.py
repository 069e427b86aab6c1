"""A slow, obvious twin of the binning search: every combination of edges on the grid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def best_bins(
    peaks: Sequence[float],
    weights: Sequence[float],
    *,
    bins: int,
    stride: float,
    top: float,
    fewest: int,
) -> float | None:
    """Return the least weighted allocation of any bins, or None if none is allowed."""
    grid = []
    edge = stride
    while edge < top - 1e-9:
        grid.append(edge)
        edge = stride * (len(grid) + 1)
    best = None
    for inner in combinations(grid, bins - 1):
        edges = [*inner, top]
        held = [0] * bins
        total = 0.0
        for peak, weight in zip(peaks, weights, strict=True):
            place = next(k for k, edge in enumerate(edges) if peak <= edge)
            held[place] += 1
            total += edges[place] * weight
        if min(held) >= fewest and (best is None or total < best):
            best = total
    return best
