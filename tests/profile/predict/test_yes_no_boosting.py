from __future__ import annotations

import numpy as np

from prophase.profile.predict.leaf_forest import matrix
from prophase.profile.predict.yes_no_target import BoostedChance


def test_as_many_outcomes_are_true_as_are_likely() -> None:
    draw = np.random.default_rng(0)
    size = draw.integers(0, 2, (2_000, 1)).astype(float)
    truths = (draw.random(2_000) < np.where(size[:, 0] > 0.5, 0.9, 0.1)).astype(float)
    learnt = BoostedChance().fit(size, truths)
    told = learnt.outcomes(matrix(np.array([[0.0], [1.0]])), 100)
    assert set(np.unique(told)) == {0.0, 1.0}
    np.testing.assert_allclose(told.mean(axis=1), [0.1, 0.9], atol=0.03)
    # in order of size, as every opinion is
    assert (np.diff(told, axis=1) >= 0).all()


def test_a_history_of_one_class_is_learned_as_nearly_certain() -> None:
    learnt = BoostedChance().fit(np.arange(50.0)[:, None], np.zeros(50))
    assert learnt.outcomes(matrix(np.array([[7.0]])), 100).mean() < 0.02
