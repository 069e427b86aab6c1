from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist, squareform
from sklearn.metrics import adjusted_rand_score

from prophase.profile.clusters.generators.density import Hdbscan
from prophase.profile.clusters.generators.spanning_tree import single_linkage

RNG = np.random.default_rng(3)
SPOTS = RNG.normal(size=(6, 5)) * 4
VALUES = SPOTS[RNG.integers(0, 6, 400)] + RNG.normal(size=(400, 5)) @ RNG.normal(size=(5, 5))
# in steps of 1/1024 every distance is exact, so ties are the same on every processor
VALUES = np.round(VALUES * 1024) / 1024


@pytest.mark.parametrize(
    ("metric", "scipy"), [("euclidean", "euclidean"), ("manhattan", "cityblock")]
)
def test_the_tree_is_the_single_linkage_of_mutual_reachability(metric: str, scipy: str) -> None:
    apart = cdist(VALUES, VALUES, scipy)
    core = np.sort(apart, axis=1)[:, 7]
    mutual = np.maximum(apart, np.maximum.outer(core, core))
    np.fill_diagonal(mutual, 0.0)
    expected = linkage(squareform(mutual, checks=False), "single")[:, 2]
    assert single_linkage(VALUES, 7, metric=metric)[:, 2] == pytest.approx(expected)


def test_labels_are_those_of_the_library() -> None:
    from hdbscan import HDBSCAN

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = HDBSCAN(20, min_samples=5, approx_min_span_tree=False).fit(VALUES)
    ours = Hdbscan(20, min_samples=5, processes=2).cluster(VALUES)
    assert adjusted_rand_score(theirs.labels_, ours.labels) == 1.0
    assert np.sort(ours.strength) == pytest.approx(np.sort(theirs.probabilities_))


def test_equal_rows_and_a_constant_column_are_no_trouble() -> None:
    values = np.column_stack([np.repeat([0.0, 9.0], 30), np.zeros(60)])
    found = Hdbscan(10, min_samples=3).cluster(values)
    assert found.count == 2
    assert found.outliers == 0
