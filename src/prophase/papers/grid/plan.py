"""The combinations of a clustering grid; the default is Table III of the paper, 112 of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import pandas as pd

from prophase.array_types import Floats
from prophase.cells import open_cells
from prophase.errors import ParameterError, not_among
from prophase.profile.clusters.assigner import NORMS
from prophase.profile.clusters.clustering import Generator, cluster_statistics
from prophase.profile.clusters.generators.density import Hdbscan, Optics
from prophase.profile.clusters.quality import silhouettes
from prophase.profile.clusters.transforms import (
    ALIASES,
    PAPER_TRANSFORMS,
    TRANSFORMS,
    fit_transform,
)
from prophase.profile.clusters.usage_metrics import UsageFeatures, content_hash
from prophase.workers import run_all

ALGORITHMS = ("hdbscan", "optics")
PAPER_SIZES = (50, 100, 200, 300, 400, 600, 1000)


@dataclass(frozen=True)
class GridCell:
    """One combination, and what decides its result besides."""

    algorithm: str
    transform: str
    metric: str
    min_cluster_size: int
    min_samples: int | None
    exact: bool
    optics_rows: int
    silhouette_rows: int | None
    random_state: int

    @property
    def axes(self) -> dict[str, object]:
        return {
            "algorithm": self.algorithm,
            "transform": self.transform,
            "metric": self.metric,
            "min_cluster_size": self.min_cluster_size,
        }

    @property
    def key(self) -> str:
        """Return a word that two cells share only if they give the same result."""
        held = asdict(self)
        optics = self.algorithm == "optics"
        for unused in ("min_samples", "exact") if optics else ("optics_rows",):
            held.pop(unused)
        return " ".join(f"{name}={value}" for name, value in held.items())

    def generator(self) -> Generator:
        """Return what makes the groups of this cell."""
        if self.algorithm == "optics":
            return Optics(
                self.min_cluster_size,
                metric=self.metric,
                most_rows=self.optics_rows,
                random_state=self.random_state,
            )
        return Hdbscan(
            self.min_cluster_size,
            min_samples=self.min_samples,
            metric=self.metric,
            exact=self.exact,
        )


@dataclass(frozen=True)
class GridPlan:
    """The axes of a grid, and how its cells are measured.

    Examples
    --------
    >>> len(GridPlan().cells())
    112
    """

    algorithms: Sequence[str] = ALGORITHMS
    transforms: Sequence[str] = PAPER_TRANSFORMS
    metrics: Sequence[str] = ("euclidean", "manhattan")
    sizes: Sequence[int] = PAPER_SIZES
    #: for HDBSCAN; the least cluster size, as in the paper, if not given
    min_samples: int | None = None
    #: whether HDBSCAN takes the true spanning tree; the authors' library does not by default
    exact: bool = False
    #: rows OPTICS looks at; with more it takes a sample and the cell says so
    optics_rows: int = 10_000
    #: rows whose silhouette is taken, each against all; all rows if None
    silhouette_rows: int | None = 5_000
    random_state: int = 0

    def __post_init__(self) -> None:
        for what, words, known in (
            ("algorithm", self.algorithms, ALGORITHMS),
            ("transform", self.transforms, (*TRANSFORMS, *ALIASES)),
            ("metric", self.metrics, tuple(NORMS)),
        ):
            for word in words:
                if word not in known:
                    raise ParameterError(not_among(f"{what} {word!r} is unknown.", word, known))
        if not self.cells() or min(self.sizes) < 2:
            raise ParameterError(
                "a grid needs a value on every axis, and sizes of 2 or more; there are "
                f"{len(self.algorithms)} algorithms, {len(self.transforms)} transforms, "
                f"{len(self.metrics)} metrics and the sizes {list(self.sizes)}."
            )

    def cells(self) -> list[GridCell]:
        """Return every combination, in the order of the axes."""
        axes = product(self.algorithms, self.transforms, self.metrics, self.sizes)
        return [
            GridCell(
                algorithm,
                ALIASES.get(transform, transform),
                metric,
                size,
                self.min_samples,
                self.exact,
                self.optics_rows,
                self.silhouette_rows,
                self.random_state,
            )
            for algorithm, transform, metric, size in axes
        ]


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
