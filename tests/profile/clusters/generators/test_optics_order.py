from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import OPTICS
from sklearn.metrics import adjusted_rand_score

from prophase.profile.clusters.generators.density import Optics
from prophase.profile.clusters.generators.optics_order import visit

RNG = np.random.default_rng(5)
VALUES = RNG.normal(size=(4, 3))[RNG.integers(0, 4, 250)] * 6 + RNG.normal(size=(250, 3))
# in steps of 1/1024 every distance is exact, so ties are the same on every processor
VALUES = np.round(VALUES * 1024) / 1024


def test_the_visit_is_that_of_scikit_learn() -> None:
    theirs = OPTICS(min_samples=20, min_cluster_size=20, metric="manhattan").fit(VALUES)
    ours = visit(VALUES, 20, metric="manhattan")
    assert ours.order.tolist() == theirs.ordering_.tolist()
    assert ours.distance == pytest.approx(theirs.reachability_)
    assert ours.core == pytest.approx(theirs.core_distances_)
    assert ours.predecessor.tolist() == theirs.predecessor_.tolist()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_groups_are_those_of_scikit_learn(metric: str) -> None:
    theirs = OPTICS(min_samples=20, min_cluster_size=20, metric=metric).fit(VALUES)
    ours = Optics(20, metric=metric).cluster(VALUES)
    # its Euclidean distances are rounded otherwise: of rows reached at the same distance another
    # may come first, from which on the walk goes a little differently
    assert adjusted_rand_score(theirs.labels_, ours.labels) > 0.95
    assert ours.reachability is not None
    middle = [np.median(held[1:]) for held in (ours.reachability.distance, theirs.reachability_)]
    assert middle[0] == pytest.approx(middle[1], rel=0.02)


def test_equal_rows_are_reached_at_no_distance() -> None:
    found = visit(np.zeros((5, 2)), 2)
    assert found.order.tolist() == [0, 1, 2, 3, 4]
    assert found.distance[1:].tolist() == [0.0] * 4
