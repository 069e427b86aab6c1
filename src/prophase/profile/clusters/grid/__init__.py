"""Which clustering? The grid of the paper's Table III, its statistics and its scores."""

from prophase.profile.clusters.grid.plan import GridCell, GridPlan
from prophase.profile.clusters.grid.running import run_grid
from prophase.profile.clusters.grid.selection import best_cell, selection_scores, sensitivity
from prophase.profile.clusters.grid.statistics import compare_with_table_iv, table_iv

__all__ = [
    "GridCell",
    "GridPlan",
    "best_cell",
    "compare_with_table_iv",
    "run_grid",
    "selection_scores",
    "sensitivity",
    "table_iv",
]
