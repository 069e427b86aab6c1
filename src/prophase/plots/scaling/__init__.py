"""Figures of allocations over time."""

from prophase.plots.scaling.allocation import allocation_figure
from prophase.plots.scaling.frontier import frontier_figure

__all__ = ["allocation_figure", "frontier_figure"]
