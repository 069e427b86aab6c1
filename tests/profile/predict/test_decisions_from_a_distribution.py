from __future__ import annotations

import numpy as np
import pytest

from prophase.profile.predict.pooled_distribution import FACTOR_TWO, NEARLY_EXACT, best_points


def test_of_two_humps_the_larger_is_named() -> None:
    steps = np.array([[0.0] * 14 + [5.0] * 6, [0.0] * 6 + [5.0] * 14])
    np.testing.assert_allclose(best_points(steps, 25.0, FACTOR_TWO)[:, 0], [0.0, 5.0], atol=0.05)


def test_large_misses_have_a_price() -> None:
    steps = np.array([[0.0] * 10 + [3.0] * 4 + [6.0] * 6])
    cheap, dear = (best_points(steps, price, FACTOR_TWO)[0, 0] for price in (1e6, 0.5))
    assert cheap == pytest.approx(0.0, abs=0.05)
    assert dear == pytest.approx(3.0, abs=0.05)


@pytest.mark.parametrize("useful", [FACTOR_TWO, NEARLY_EXACT])
def test_a_narrow_distribution_is_answered_with_its_middle(useful: tuple[float, ...]) -> None:
    steps = np.linspace(3.0, 3.02, 60)[None, :]
    assert best_points(steps, 1.0, useful)[0, 0] == pytest.approx(3.01, abs=0.01)


def test_what_repeats_nearly_exactly_is_named_exactly() -> None:
    # a third repeats at 0; the rest is spread out within a factor of two
    steps = np.sort(np.concatenate([np.zeros(20), np.linspace(-0.2, 1.0, 40)]))[None, :]
    assert abs(best_points(steps, 1.0, NEARLY_EXACT)[0, 0]) < 0.05
    assert best_points(steps, 1.0, FACTOR_TWO)[0, 0] > 0.1


def test_a_nearly_exact_answer_settles_on_what_repeats() -> None:
    # half of all repeat at 1.03; the others lie below it, so an average would, too
    steps = np.sort(np.concatenate([np.full(30, 1.03), np.linspace(0.85, 1.02, 28), [4.0, 5.0]]))
    assert best_points(steps[None, :], 1.0, NEARLY_EXACT)[0, 0] == pytest.approx(1.03, abs=0.011)
