from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.range_levels import LevelCalibrator, at_level, levels_of

QUANTILES = stats.norm.ppf((np.arange(64) + 0.5) / 64)


def answered(
    draw: np.random.Generator, rows: int, told: float, true: float
) -> tuple[PointAndRange, np.ndarray]:
    """Distributions of spread ``told`` about outcomes of spread ``true``."""
    middle = draw.normal(6.0, 2.0, rows)
    steps = middle[:, None] + told * QUANTILES
    outcome = middle + draw.normal(0.0, true, rows)
    return PointAndRange(middle, steps[:, 3], steps[:, 60], steps), outcome


@pytest.mark.parametrize("told", [0.3, 1.0])
def test_distributions_that_are_too_sure_cover_nine_in_ten_afterwards(told: float) -> None:
    draw = np.random.default_rng(0)
    rows = 3_000
    seen, fresh = np.full(rows, "seen"), np.zeros(rows, dtype=bool)
    calibrator = LevelCalibrator(2.0)
    answer, outcome = answered(draw, rows, told, 1.0)
    calibrator.learn(answer, outcome, seen, fresh, np.arange(rows, dtype=float))
    answer, outcome = answered(draw, rows, told, 1.0)
    low, high = calibrator.widen(answer, seen, fresh, np.full(rows, np.inf))
    assert 0.88 <= float(((low <= outcome) & (outcome <= high)).mean()) <= 0.94


def test_ranges_narrow_where_distributions_were_not_sure_enough() -> None:
    draw = np.random.default_rng(1)
    rows = 3_000
    seen, fresh = np.full(rows, "seen"), np.zeros(rows, dtype=bool)
    calibrator = LevelCalibrator(2.0)
    answer, outcome = answered(draw, rows, 2.0, 0.5)
    calibrator.learn(answer, outcome, seen, fresh, np.arange(rows, dtype=float))
    low, high = calibrator.widen(answer, seen, fresh, np.full(rows, np.inf))
    assert np.median(high - low) < 0.9 * np.median(answer.high - answer.low)


def test_without_any_outcome_a_range_is_endless() -> None:
    answer, _ = answered(np.random.default_rng(2), 1, 1.0, 1.0)
    kind, fresh = np.array(["new"]), np.array([False])
    low, high = LevelCalibrator(1.0).widen(answer, kind, fresh, np.array([1.0]))
    assert np.isinf(low[0])
    assert np.isinf(high[0])


def test_levels_and_places_are_each_others_inverse() -> None:
    steps = np.sort(np.random.default_rng(3).normal(size=(1, 64)), axis=1)
    for level in (-0.4, 0.03, 0.5, 0.97, 1.3):
        place = at_level(steps, level, 1.5)
        assert levels_of(steps, place, 1.5)[0][0] == pytest.approx(level, abs=1e-2)
