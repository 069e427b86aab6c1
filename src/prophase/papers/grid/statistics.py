"""Table IV of the paper: mean, least, largest and spread over the cells of each algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from prophase.errors import FormatError, MissingColumnError
from prophase.json_types import JsonObject
from prophase.profile.clusters.transforms import ALIASES
from prophase.trace.trace_tables import open_trace

#: statistic of a cell -> decimals in the paper's Table IV
MEASURES: Mapping[str, int] = {
    "n_outliers": 1,
    "n_clusters": 1,
    "mean_cluster_size": 1,
    "silhouette": 2,
    "davies_bouldin": 2,
}
#: Table IV as printed: algorithm -> row -> its five numbers in the order of MEASURES
PUBLISHED_TABLE_IV: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "hdbscan": {
        "mean": (40331.1, 68.6, 1993.6, 0.44, 1.52),
        "min": (18059, 10, 254.9, 0.23, 1.19),
        "max": (64770, 243, 5859.5, 0.65, 2.01),
        "std": (11124.0, 70.3, 1509.3, 0.08, 0.19),
    },
    "optics": {
        "mean": (79578.3, 66.2, 889.5, 0.60, 1.19),
        "min": (66708, 1, 120.6, -1.00, 0.98),
        "max": (98936, 271, 2979.5, 0.81, 1.40),
        "std": (7643.2, 79.3, 752.1, 0.20, 0.10),
    },
}
#: names in the authors' files -> ours
_AUTHORS = {
    "transform_function": "transform",
    "avg_silhouette": "silhouette",
    "davies_bouldin_score": "davies_bouldin",
}


def as_grid(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of cells under our names; the authors' files are understood."""
    grid = table.rename(columns=_AUTHORS)
    lacking = [name for name in ("algorithm", *MEASURES) if name not in grid]
    if lacking:
        raise MissingColumnError(
            f"a clustering grid needs the column {lacking[0]!r}, which is not there. Make one "
            "with run_grid, or read the published one with the source polaris."
        )
    if "transform" in grid:
        grid["transform"] = grid["transform"].replace(ALIASES)
    return grid


def table_iv(grid: pd.DataFrame) -> pd.DataFrame:
    """Return mean, min, max and std (n - 1) of every statistic, per algorithm.

    Examples
    --------
    >>> cells = {"algorithm": "hdbscan", "n_outliers": [10, 30], "n_clusters": [2, 4]}
    >>> cells |= {"mean_cluster_size": 9.0, "silhouette": [0.2, 0.4], "davies_bouldin": 1.5}
    >>> table_iv(pd.DataFrame(cells)).loc[("hdbscan", "mean"), "n_outliers"]
    np.float64(20.0)
    """
    cells = as_grid(grid)
    parts = {
        str(algorithm): part[list(MEASURES)].astype(float).agg(["mean", "min", "max", "std"])
        for algorithm, part in cells.groupby("algorithm", sort=True)
    }
    return pd.concat(parts, names=["algorithm", "statistic"])


def compare_with_table_iv(grid: pd.DataFrame) -> pd.DataFrame:
    """Return every cell of Table IV beside ours, and whether they agree as printed.

    Our number agrees if it rounds to the printed one at the decimals of the paper.
    """
    ours = table_iv(grid)
    rows: list[JsonObject] = []
    for algorithm, published in PUBLISHED_TABLE_IV.items():
        if algorithm not in ours.index.get_level_values("algorithm"):
            continue
        for statistic, numbers in published.items():
            numbers_of: dict[Any, Any] = ours.xs((algorithm, statistic)).to_dict()
            for (measure, decimals), printed in zip(MEASURES.items(), numbers, strict=True):
                found = float(numbers_of[measure])
                rows.append(
                    {
                        "algorithm": algorithm,
                        "statistic": statistic,
                        "measure": measure,
                        "published": printed,
                        "ours": found,
                        "agrees": abs(found - printed) <= 0.5 * 10**-decimals + 1e-9,
                    }
                )
    return pd.DataFrame(rows)


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
