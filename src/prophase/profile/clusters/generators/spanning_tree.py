"""The spanning tree under HDBSCAN: that of the ``hdbscan`` library, at half its time.

The library spends its time in k-d trees, which cut space along the axes. Usage metrics move
together, so the axes are a poor choice: turned to their principal directions, which leaves every
Euclidean distance as it is, the trees rule out more. The neighbours that core distances need
come from SciPy's tree, which finds the same ones several times faster than the library's search
over two trees at once. Both were measured: ``benchmarks/speed/cluster_speed.py``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from prophase.array_types import Floats
from prophase.profile.clusters import library
from prophase.profile.clusters.assigner import NORMS

#: rows of a leaf of the library's tree; it is little sensitive to it
_LEAF = 13


def single_linkage(
    values: Floats,
    neighbours: int,
    *,
    metric: str = "euclidean",
    exact: bool = True,
    processes: int = 1,
) -> Floats:
    """Return the single-linkage tree of mutual reachability distances, as SciPy's linkages.

    Parameters
    ----------
    neighbours : int
        The distance to the neighbour of this number is a row's core distance.
    exact : bool, default=True
        Take the true spanning tree and not the library's approximation.

    Examples
    --------
    >>> single_linkage(np.array([[0.0], [1.0], [5.0]]), 1)[:, 2]
    array([1., 4.])
    """
    turned = _to_principal_axes(values) if metric == "euclidean" else np.ascontiguousarray(values)
    with warnings.catch_warnings():
        # hdbscan 0.8 calls scikit-learn by names that newer versions rename
        warnings.simplefilter("ignore", FutureWarning)
        edges = (
            library("hdbscan._hdbscan_boruvka")
            .KDTreeBoruvkaAlgorithm(
                _Neighbours(turned, metric, processes),
                neighbours,
                metric=metric,
                leaf_size=_LEAF,
                approx_min_span_tree=not exact,
                n_jobs=1,
            )
            .spanning_tree()
        )
    # by weight alone, as the library does: its order decides between equal ones
    edges = edges[np.argsort(edges.T[2]), :]
    linked: Floats = library("hdbscan._hdbscan_linkage").label(edges)
    return linked


def _to_principal_axes(values: Floats) -> Floats:
    """Turn rows so that their widest spread lies along the first axis; distances stay."""
    centred = values - values.mean(axis=0)
    directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    return np.ascontiguousarray(centred @ directions)


class _Neighbours:
    """Answers the library's question for nearest neighbours with SciPy's tree."""

    def __init__(self, data: Floats, metric: str, processes: int) -> None:
        self.data = data
        self._norm, self._processes = NORMS[metric], processes

    def query(self, rows: Any, k: int, **_: Any) -> tuple[Floats, Any]:
        # the tree goes when it has answered: it is asked once
        found = cKDTree(self.data).query(
            np.asarray(rows), k=k, p=self._norm, workers=self._processes
        )
        return found[0].reshape(len(self.data), k), found[1].reshape(len(self.data), k)
