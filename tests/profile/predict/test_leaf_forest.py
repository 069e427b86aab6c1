from __future__ import annotations

import numpy as np
import pytest

from prophase.profile.predict.leaf_forest import FEW, LeafForest, Walk, matrix


@pytest.mark.parametrize("rows", [1, 7, FEW])
def test_the_walk_ends_in_the_leaves_that_xgboost_names(rows: int) -> None:
    draw = np.random.default_rng(rows)
    seen = draw.normal(size=(2_000, 9)).astype(np.float32)
    seen[draw.random(seen.shape) < 0.2] = np.nan
    answers = np.nan_to_num(seen[:, 0]) + draw.normal(size=2_000)
    forest = LeafForest().fit(seen, answers)
    # on a limit, missing, and outside all that was learnt from
    asked = seen[draw.integers(0, 2_000, rows)].copy()
    asked[0, :4] = [np.nan, 1e30, -1e30, 0.0]
    expected = forest.booster_.predict(matrix(asked), pred_leaf=True).reshape(rows, -1)
    assert (Walk(forest.booster_).leaves(asked) == expected).all()
    assert (forest.outcomes(asked) == forest.outcomes(matrix(asked))).all()


def test_a_forest_without_a_split_has_one_leaf() -> None:
    forest = LeafForest().fit(np.ones((30, 2), np.float32), np.ones(30))
    assert (Walk(forest.booster_).leaves(np.zeros((2, 2), np.float32)) == 0).all()


def test_forests_that_are_joined_answer_as_each_of_them() -> None:
    draw = np.random.default_rng(0)
    seen = draw.normal(size=(400, 3)).astype(np.float32)
    answers = seen[:, 0].astype(np.float64)
    parts = [
        LeafForest(trees=trees, random_state=trees).fit(seen[first::2], answers[first::2])
        for first, trees in ((0, 2), (1, 3))
    ]
    whole = LeafForest.joined(parts)
    for rows in (seen[:5], matrix(seen)):
        apart = np.concatenate([part.outcomes(rows) for part in parts], axis=1)
        np.testing.assert_array_equal(whole.outcomes(rows), apart)
