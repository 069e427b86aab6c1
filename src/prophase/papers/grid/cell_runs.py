"""Run a clustering grid: only the cells that are not there yet, on as many workers as there are."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd

from prophase.array_types import Floats
from prophase.cells import open_cells
from prophase.papers.grid.plan import GridCell, GridPlan
from prophase.profile.clusters.clustering import cluster_statistics
from prophase.profile.clusters.quality import silhouettes
from prophase.profile.clusters.transforms import fit_transform
from prophase.profile.clusters.usage_metrics import UsageFeatures, content_hash
from prophase.workers import run_all


def run_grid(
    features: UsageFeatures,
    plan: GridPlan | None = None,
    *,
    folder: Path | None = None,
    workers: int | str = 1,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Cluster jobs in every combination of a plan and return one row of statistics for each.

    Parameters
    ----------
    plan : GridPlan, optional
        Table III of the paper if not given.
    folder : Path, optional
        Where each finished cell is kept at once; a second call runs only the rest.
    workers : int or str, default=1
        Processes, 0 for all cores, or the address of a Dask scheduler, ``"dask://host:8786"``.
    progress : function, optional
        Called with the number of cells done and of all cells.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(0, 0.1, (90, 2)) + np.repeat([[0, 0], [5, 0], [0, 5]], 30, axis=0)
    >>> features = UsageFeatures(("cpu_mean_cores", "memory_mean_gib"), values, {}, ())
    >>> plan = GridPlan(["hdbscan"], ["standard"], ["euclidean"], [10, 20], min_samples=5)
    >>> run_grid(features, plan)[["min_cluster_size", "n_clusters"]].values.tolist()
    [[10, 3], [20, 3]]
    """
    cells = {cell.key: cell for cell in (plan or GridPlan()).cells()}
    report = progress or (lambda done, total: None)
    with open_cells(folder, "grid", content_hash(features)) as store:
        missing = [cell for key, cell in cells.items() if key not in store.finished]
        done = len(cells) - len(missing)
        report(done, len(cells))
        with closing(run_all(run_cell, features.values, missing, workers=workers)) as results:
            for cell, row in results:
                store.add(cell.key, row)
                report(done := done + 1, len(cells))
        rows = [store.finished[key] for key in cells]
    return pd.DataFrame(rows)


def run_cell(values: Floats, cell: GridCell) -> dict[str, object]:
    """Cluster one cell and return its row. ``values`` are not transformed yet."""
    began = time.perf_counter()
    scaled = fit_transform(cell.transform, values)(values)
    found = cell.generator().cluster(scaled)
    scores = silhouettes(
        scaled,
        found.labels,
        metric=cell.metric,
        rows=cell.silhouette_rows,
        random_state=cell.random_state,
    )
    row = cluster_statistics(scaled, found, scores)
    seconds = round(time.perf_counter() - began, 3)
    return {**cell.axes, **row, "seconds": seconds, "note": " ".join(found.notes)}
