"""Read the cells of a grid that is already there: our own file, or the authors' two."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from prophase.errors import FormatError
from prophase.papers.grid.statistics import as_grid
from prophase.trace.trace_tables import open_trace

#: the authors' names that no file of ours has
_AUTHORS = ("transform_function", "avg_silhouette")
_NEEDED = ("n_outliers", "n_clusters", "mean_cluster_size")


@dataclass(frozen=True)
class FoundGrid:
    """Cells under our names; ``published`` if they are those of the paper's authors."""

    cells: pd.DataFrame
    published: bool


def read_grid(path: Path) -> FoundGrid | None:
    """Return the cells at a path, or None if that is a trace to be clustered.

    Parameters
    ----------
    path : Path
        A CSV file of cells, or the folder of the authors' result files (the source polaris).
    """
    if path.is_file() and path.suffix == ".csv":
        return _from_csv(path)
    if path.is_dir() and (any(path.glob("*hdbscan_analysis*")) or any(path.glob("*optics_anal*"))):
        return FoundGrid(open_trace(path, source="polaris").tables["clustering_grid"], True)
    return None


def _from_csv(path: Path) -> FoundGrid | None:
    try:
        header = pd.read_csv(path, nrows=0).columns
    except (ValueError, UnicodeDecodeError):
        return None
    if not set(_NEEDED) <= set(header):
        return None
    published = any(name in header for name in _AUTHORS)
    try:
        cells = pd.read_csv(path)
    except ValueError as cause:
        raise FormatError(f"{path}: {cause}. Correct that line.") from cause
    if "algorithm" not in cells:
        # each of the authors' files is of one algorithm, which only its name gives
        word = next((one for one in ("hdbscan", "optics") if one in path.name), "unknown")
        cells.insert(0, "algorithm", word)
    return FoundGrid(as_grid(cells), published)
