from __future__ import annotations

import numpy as np
import pytest

from prophase.profile.predict.pooled_distribution import (
    POOLED,
    densities,
    evenly,
    learn_weights,
    pooled,
)


def test_the_opinion_that_fits_gets_the_weight() -> None:
    draw = np.random.default_rng(0)
    values = draw.normal(0.0, 1.0, 400)
    near = values[:, None] + draw.normal(0.0, 0.2, (400, 24))
    far = draw.normal(0.0, 1.0, (400, 24))
    likely = np.column_stack([densities(far, values, 1.0), densities(near, values, 1.0)])
    weights = learn_weights(likely, np.array([0.5, 0.5]))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[1] > 0.8


def test_without_outcomes_the_weights_stay_as_chosen_beforehand() -> None:
    prior = np.array([0.2, 0.8])
    np.testing.assert_allclose(learn_weights(np.empty((0, 2)), prior), prior)


@pytest.mark.parametrize("share", [0.0, 0.3, 1 / 3, 1.0])
def test_each_opinion_has_its_share_of_the_pool(share: float) -> None:
    opinions = {
        "low": lambda count: np.zeros((2, count)),
        "high": lambda count: np.ones((2, count)),
    }
    found = pooled(opinions, {"low": 1 - share, "high": share})
    assert found.shape == (2, POOLED)
    assert found.mean() == pytest.approx(share, abs=1 / POOLED)
    assert (np.diff(found, axis=1) >= 0).all()


def test_few_values_are_repeated_evenly() -> None:
    ordered = np.array([[1.0, 2.0, np.nan]])
    assert evenly(ordered, np.array([2]), 4).tolist() == [[1.0, 1.0, 2.0, 2.0]]
