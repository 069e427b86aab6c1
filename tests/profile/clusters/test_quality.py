from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import davies_bouldin_score, silhouette_samples

from prophase.errors import ParameterError
from prophase.profile.clusters import quality
from prophase.profile.clusters.quality import davies_bouldin, silhouettes

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(200, 3))
LABELS = RNG.integers(-1, 4, 200)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_silhouettes_without_outliers_are_those_of_scikit_learn(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quality, "_AT_A_TIME", 1000)
    inside = LABELS >= 0
    found = silhouettes(VALUES, LABELS, metric=metric)
    expected = silhouette_samples(VALUES[inside], LABELS[inside], metric=metric)
    assert found.values == pytest.approx(expected)
    assert found.rows.tolist() == np.flatnonzero(inside).tolist()


def test_a_group_of_one_scores_zero() -> None:
    values = np.array([[0.0], [1.0], [9.0]])
    assert silhouettes(values, np.array([0, 0, 1])).values[2] == 0.0


def test_sampled_rows_have_the_same_silhouettes_as_among_all() -> None:
    whole, some = silhouettes(VALUES, LABELS), silhouettes(VALUES, LABELS, rows=40)
    by_row = dict(zip(whole.rows, whole.values, strict=True))
    assert len(some.rows) == 40
    assert [by_row[row] for row in some.rows] == pytest.approx(list(some.values))


def test_one_group_has_a_silhouette_of_minus_one_as_in_the_published_rows() -> None:
    assert silhouettes(VALUES, np.where(LABELS > 0, 0, -1)).mean == -1.0


def test_rows_of_zeros_have_a_cosine_silhouette() -> None:
    values = np.vstack([np.zeros((2, 3)), VALUES[:10]])
    assert np.isfinite(silhouettes(values, np.arange(12) % 2, metric="cosine").values).all()


def test_an_unknown_distance_is_refused() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'euclidean'"):
        silhouettes(VALUES, LABELS, metric="euclid")


def test_davies_bouldin_counts_outliers_as_a_group_unless_asked_otherwise() -> None:
    inside = LABELS >= 0
    assert davies_bouldin(VALUES, LABELS) == davies_bouldin_score(VALUES, LABELS)
    assert davies_bouldin(VALUES, LABELS, with_outliers=False) == davies_bouldin_score(
        VALUES[inside], LABELS[inside]
    )
    assert math.isnan(davies_bouldin(VALUES, np.zeros(200, dtype=np.int64)))
