from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from prophase.profile.predict.point_and_range import STRANGER, PointAndRange
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


@pytest.mark.parametrize(("kind", "level"), [("seen", 0.05), ("partly", 0.04), ("new", 0.02)])
def test_long_after_the_last_outcome_few_outcomes_do_not_narrow_a_range(
    kind: str, level: float
) -> None:
    draw = np.random.default_rng(6)
    rows = 400
    kinds, late = np.full(rows, kind), np.ones(rows, dtype=bool)
    calibrator = LevelCalibrator(2.0)
    answer, outcome = answered(draw, rows, 2.0, 0.5)
    calibrator.learn(answer, outcome, kinds, late, np.arange(rows, dtype=float))
    low, high = calibrator.widen(answer, kinds, late, np.full(rows, np.inf))
    assert low == pytest.approx(at_level(answer.steps, level, 2.0))
    assert high == pytest.approx(at_level(answer.steps, 1 - level, 2.0))


def test_without_any_outcome_a_range_holds_the_whole_distribution() -> None:
    answer, _ = answered(np.random.default_rng(2), 1, 1.0, 1.0)
    kind, fresh = np.array(["new"]), np.array([False])
    low, high = LevelCalibrator(1.0).widen(answer, kind, fresh, np.array([1.0]))
    assert low[0] < answer.steps.min()
    assert answer.steps.max() < high[0] < answer.steps.max() + 1


def test_ranges_follow_when_the_world_changes_and_come_back() -> None:
    draw = np.random.default_rng(4)
    calibrator, covered = LevelCalibrator(2.0), []
    for block, true in enumerate([1.0] * 40 + [1.6] * 80 + [0.8] * 80):
        answer, outcome = answered(draw, 25, 1.0, true)
        seen, fresh = np.full(25, "seen"), np.zeros(25, dtype=bool)
        low, high = calibrator.widen(answer, seen, fresh, np.full(25, 25.0 * block))
        covered.append(float(((low <= outcome) & (outcome <= high)).mean()))
        calibrator.learn(answer, outcome, seen, fresh, 25.0 * block + np.arange(25.0))
    for first, last in ((10, 40), (50, 120), (160, 200)):
        assert 0.86 <= np.mean(covered[first:last]) <= 0.95


def test_what_is_reported_late_does_not_change_earlier_ranges() -> None:
    draw = np.random.default_rng(5)
    calibrator = LevelCalibrator(2.0)
    seen, fresh = np.full(200, "seen"), np.zeros(200, dtype=bool)
    calibrator.learn(*answered(draw, 200, 1.0, 1.0), seen, fresh, np.arange(200.0))
    asked, _ = answered(draw, 1, 1.0, 1.0)
    before = calibrator.widen(asked, seen[:1], fresh[:1], np.array([150.0]))
    calibrator.learn(*answered(draw, 200, 1.0, 5.0), seen, fresh, np.full(200, 20.0))
    after = calibrator.widen(asked, seen[:1], fresh[:1], np.array([150.0]))
    assert before == after


def test_levels_and_places_are_each_others_inverse() -> None:
    steps = np.sort(np.random.default_rng(3).normal(size=(1, 64)), axis=1)
    for level in (-0.4, 0.03, 0.5, 0.97, 1.3):
        place = at_level(steps, level, 1.5)
        assert levels_of(steps, place, 1.5)[0][0] == pytest.approx(level, abs=1e-2)


def test_few_owners_leave_more_open_than_many_and_equal_ones_nothing() -> None:
    draw = np.random.default_rng(3)

    def reach(owners: int, between: float) -> float:
        calibrator = LevelCalibrator(2.0)
        owner = np.repeat(np.arange(owners, dtype=np.uint64), 3_000 // owners)
        middle = draw.normal(6.0, 2.0, len(owner))
        steps = middle[:, None] + QUANTILES
        answer = PointAndRange(middle, steps[:, 3], steps[:, 60], steps)
        # the owners' means lie at even places of a normal distribution
        place = stats.norm.ppf((np.arange(owners) + 0.5) / owners)
        outcome = middle + between * place[owner.astype(int)] + draw.normal(0.0, 1.0, len(owner))
        calibrator.learn_strangers(*levels_of(steps, outcome, 2.0), owner, 0)
        kind, fresh = np.full(1, STRANGER), np.zeros(1, dtype=bool)
        one = PointAndRange(*(part[:1] for part in (middle, *answer.ends()[1:])), steps[:1])
        everyone = np.full(len(owner), "new")
        late = np.zeros(len(owner), dtype=bool)
        calibrator.learn(answer, middle, everyone, late, np.arange(len(owner), dtype=float))
        low, high = calibrator.widen(one, kind, fresh, np.full(1, np.inf))
        return float((high - low)[0])

    assert reach(4, 1.0) > 1.1 * reach(60, 1.0)
    assert reach(4, 0.0) == pytest.approx(reach(60, 0.0), rel=0.15)


def test_bursts_whose_outcomes_come_late_are_covered_as_promised_on_average() -> None:
    draw = np.random.default_rng(8)
    calibrator, covered = LevelCalibrator(2.0), []
    for burst in range(150):
        # jobs of a burst are alike, and all of them come before the first has ended
        answer, outcome = answered(draw, 40, 1.0, 0.4)
        outcome = outcome + draw.normal(0.0, 1.5)
        seen, fresh = np.full(40, "seen"), np.zeros(40, dtype=bool)
        came = np.full(40, 1_000.0 * burst)
        low, high = calibrator.widen(answer, seen, fresh, came)
        covered.append(float(((low <= outcome) & (outcome <= high)).mean()))
        calibrator.learn(answer, outcome, seen, fresh, came + 1.0 + np.arange(40.0), came)
    assert 0.87 <= np.mean(covered[50:]) <= 0.95
