from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import InputError, ParameterError
from prophase.trace.series.kmeans_centres import kmeans, nearest, squared_distances


def test_groups_far_apart_are_found() -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(at, 0.1, (50, 2)) for at in (0, 5, 10)])
    found = kmeans(rows, 3)
    assert found.places.round().tolist() == [[0, 0], [5, 5], [10, 10]]


def test_more_groups_than_different_rows_are_refused() -> None:
    with pytest.raises(InputError, match="only 2 different rows"):
        kmeans(np.array([[0.0], [0.0], [1.0]]), 3)


def test_no_groups_are_refused() -> None:
    with pytest.raises(ParameterError):
        kmeans(np.zeros((3, 1)), 0)


def test_the_nearest_centre_is_that_with_the_least_distance() -> None:
    rng = np.random.default_rng(1)
    rows, places = rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    plain = ((rows[:, None] - places) ** 2).sum(axis=2)
    assert squared_distances(rows, places) == pytest.approx(plain)
    assert nearest(rows, places).tolist() == plain.argmin(axis=1).tolist()
