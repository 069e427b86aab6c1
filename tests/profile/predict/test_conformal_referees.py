"""Ranges beside those of crepes and MAPIE, which compute them in their own ways.

Both take the score of rank 0.95 (n + 1), rounded up, on each side of a 90 % range, and so do we.
What differs on purpose is stated where it is tested: a range is never narrowed by outcomes that
nothing will follow, what is less known gets at least the margin of all jobs, recent outcomes
count more while they come in.
"""

from __future__ import annotations

import numpy as np
import pytest
from crepes import ConformalPredictiveSystem
from mapie.regression import ConformalizedQuantileRegressor
from sklearn.base import BaseEstimator, RegressorMixin

from prophase.profile.predict.conformal_range import Calibrator, conformal_quantile
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.range_levels import LevelCalibrator, at_level, levels_of

Ends = tuple[np.ndarray, np.ndarray]
#: sizes at which 0.95 (n + 1) is no whole number, where rounding would decide
SIZES = (25, 48, 101, 250, 998)


class Column(RegressorMixin, BaseEstimator):
    """A regressor that has learned already: it answers with one of the columns it is asked with."""

    def __init__(self, place: int = 0) -> None:
        self.place = place
        self.fitted_ = True

    def fit(self, asked: np.ndarray, outcome: np.ndarray) -> Column:
        return self

    def predict(self, asked: np.ndarray) -> np.ndarray:
        return np.asarray(asked)[:, self.place]


def of_mapie(learned: PointAndRange, outcome: np.ndarray, asked: PointAndRange) -> Ends:
    """Conformalized quantile regression of ranges that are given, a margin for each side."""
    low, high, point = Column(0), Column(1), Column(2)
    referee = ConformalizedQuantileRegressor([low, high, point], confidence_level=0.9, prefit=True)
    referee.conformalize(table(learned), outcome)
    _, found = referee.predict_interval(table(asked), symmetric_correction=False)
    return found[:, 0, 0], found[:, 1, 0]


def table(answer: PointAndRange) -> np.ndarray:
    return np.column_stack([answer.low, answer.high, answer.point])


def of_crepes(
    learned: PointAndRange, outcome: np.ndarray, asked: PointAndRange,
    strata: tuple[np.ndarray, np.ndarray] | None = None,
) -> Ends:  # fmt: skip
    """A predictive system of the misses of points, as shares of the range's width."""
    bins, asked_bins = strata or (None, None)
    referee = ConformalPredictiveSystem().fit(
        outcome - learned.point, sigmas=width(learned), bins=bins
    )
    found = referee.predict_int(asked.point, sigmas=width(asked), bins=asked_bins, confidence=0.9)
    return found[:, 0], found[:, 1]


def width(answer: PointAndRange) -> np.ndarray:
    found = answer.high - answer.low
    return np.where(found > 0, found, 1.0)


def jobs(
    draw: np.random.Generator, rows: int, reach: float | np.ndarray
) -> tuple[PointAndRange, np.ndarray]:
    """Points with ranges that are far too narrow, and outcomes that are longer more often."""
    point = draw.normal(6.0, 2.0, rows)
    outcome = point + draw.gumbel(0.2, 1.0, rows)
    return PointAndRange(point, point - reach, point + reach), outcome


def ours(
    learned: PointAndRange, outcome: np.ndarray, asked: PointAndRange,
    strata: tuple[np.ndarray, np.ndarray] | None = None,
) -> Ends:  # fmt: skip
    """Ranges long after the last outcome, when all outcomes count alike."""
    kinds, asked_kinds = strata or (
        np.full(len(outcome), "seen"),
        np.full(len(asked.point), "seen"),
    )
    calibrator = Calibrator()
    late = np.ones(len(outcome), dtype=bool)
    calibrator.learn(learned, outcome, kinds, late, np.arange(len(outcome), dtype=float))
    asked_late = np.ones(len(asked.point), dtype=bool)
    return calibrator.widen(asked, asked_kinds, asked_late, np.full(len(asked.point), np.inf))


@pytest.fixture(autouse=True)
def every_outcome_counts_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither referee forgets, so half-lives are endless here unless a test says otherwise."""
    name = "prophase.profile.predict.conformal_range._LONG"
    monkeypatch.setattr(name, (6_000, np.inf))


@pytest.mark.parametrize("rows", SIZES)
def test_the_quantile_is_that_of_both_referees(rows: int) -> None:
    scores = np.random.default_rng(rows).gumbel(size=rows)
    nothing = PointAndRange.of_point(np.zeros(rows))
    asked = PointAndRange.of_point(np.zeros(1))
    expected = conformal_quantile(scores, np.inf)
    for judge in (of_mapie, of_crepes):
        low, high = judge(nothing, scores, asked)
        assert high[0] == pytest.approx(expected)
        assert low[0] == pytest.approx(-conformal_quantile(-scores, np.inf))


def test_of_fewer_than_nineteen_outcomes_the_farthest_counts_where_a_referee_knows_no_end() -> None:
    scores = np.random.default_rng(0).gumbel(size=18)
    assert conformal_quantile(scores, np.inf) == scores.max()
    zeros = PointAndRange.of_point(np.zeros(18))
    with pytest.warns(UserWarning, match="too small"):
        low, high = of_crepes(zeros, scores, PointAndRange.of_point(np.zeros(1)))
    assert (low[0], high[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize("rows", SIZES[1:])
@pytest.mark.parametrize("reach", [0.0, 0.05, 0.5])
def test_ranges_of_one_width_are_widened_as_mapie_and_crepes_do(rows: int, reach: float) -> None:
    draw = np.random.default_rng(rows)
    learned, outcome = jobs(draw, rows, reach)
    asked, _ = jobs(draw, 50, reach)
    low, high = ours(learned, outcome, asked)
    for judge in (of_mapie, of_crepes):
        expected = judge(learned, outcome, asked)
        assert low == pytest.approx(expected[0])
        assert high == pytest.approx(expected[1])


def test_margins_in_shares_of_the_width_are_those_of_crepes_with_difficulties() -> None:
    draw = np.random.default_rng(7)
    reach = draw.uniform(0.2, 0.4, 500)
    point = draw.normal(6.0, 2.0, 500)
    learned = PointAndRange(point, point - reach, point + reach)
    outcome = point + reach * draw.gumbel(0.2, 2.0, 500)
    asked = PointAndRange(point[:60], point[:60] - 0.3, point[:60] + 0.3)
    low, high = ours(learned, outcome, asked)
    expected = of_crepes(learned, outcome, asked)
    assert low == pytest.approx(expected[0])
    assert high == pytest.approx(expected[1])


def test_ranges_by_stratum_are_crepes_mondrian_ones_and_of_all_jobs_where_those_are_wider() -> None:
    draw = np.random.default_rng(3)
    rows = 1_498
    kinds = draw.choice(["seen", "partly", "new"], rows, p=[0.6, 0.2, 0.2])
    spread = np.where(kinds == "seen", 0.3, np.where(kinds == "partly", 0.6, 2.0))
    learned, noise = jobs(draw, rows, 0.05)
    outcome = learned.point + spread * (noise - learned.point)
    asked, _ = jobs(draw, 90, 0.05)
    asked_kinds = np.repeat(["seen", "partly", "new"], 30)
    low, high = ours(learned, outcome, asked, (kinds, asked_kinds))
    own_low, own_high = of_crepes(learned, outcome, asked, (kinds, asked_kinds))
    all_low, all_high = of_crepes(learned, outcome, asked)
    seen = asked_kinds == "seen"
    assert low == pytest.approx(np.where(seen, own_low, np.minimum(own_low, all_low)))
    assert high == pytest.approx(np.where(seen, own_high, np.maximum(own_high, all_high)))
    # both rules decide somewhere
    assert (own_high[asked_kinds == "new"] > all_high[asked_kinds == "new"]).all()
    assert (own_high[asked_kinds == "partly"] < all_high[asked_kinds == "partly"]).all()
    assert (own_high[seen] < all_high[seen]).all()


def test_a_range_that_was_too_wide_stays_where_mapie_would_narrow_it() -> None:
    draw = np.random.default_rng(4)
    learned, outcome = jobs(draw, 250, 20.0)
    asked, _ = jobs(draw, 10, 20.0)
    low, high = ours(learned, outcome, asked)
    expected = of_mapie(learned, outcome, asked)
    assert (expected[1] < asked.high).all()
    assert low == pytest.approx(asked.low)
    assert high == pytest.approx(asked.high)


def test_recent_outcomes_that_count_more_hardly_move_a_range_of_a_steady_world(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    draw = np.random.default_rng(5)
    learned, outcome = jobs(draw, 998, 0.05)
    asked, _ = jobs(draw, 10, 0.05)
    low, high = ours(learned, outcome, asked)
    expected = of_mapie(learned, outcome, asked)
    assert (high - low) == pytest.approx(expected[1] - expected[0], rel=0.03)


def distributions(draw: np.random.Generator, rows: int) -> tuple[PointAndRange, np.ndarray]:
    """Distributions that are too sure of themselves, and outcomes."""
    point = draw.normal(6.0, 2.0, rows)
    steps = point[:, None] + np.linspace(-0.5, 0.5, 40)
    outcome = point + draw.gumbel(0.0, 1.0, rows)
    return PointAndRange(point, steps[:, 2], steps[:, 37], steps), outcome


def levels_of_crepes(answer: PointAndRange, outcome: np.ndarray, confidence: float) -> Ends:
    """The levels between which the next outcome lies."""
    low, high = levels_of(answer.distribution(), outcome, 2.0)
    # inside a distribution without steps of equal height, both are the same
    assert low == pytest.approx(high)
    referee = ConformalPredictiveSystem().fit(low)
    found = referee.predict_int(np.zeros(1), confidence=confidence)
    return found[:, 0], found[:, 1]


@pytest.mark.parametrize("rows", SIZES[1:])
def test_levels_of_a_distribution_are_those_of_crepes_and_one_hundredth_farther_out(
    rows: int,
) -> None:
    # nothing will correct a range long after the last outcome: hence the hundredth
    draw = np.random.default_rng(rows)
    answer, outcome = distributions(draw, rows)
    calibrator = LevelCalibrator(2.0)
    seen, late = np.full(rows, "seen"), np.ones(rows, dtype=bool)
    calibrator.learn(answer, outcome, seen, late, np.arange(rows, dtype=float))
    low, high = calibrator.widen(answer, seen, late, np.full(rows, np.inf))
    lowest, highest = levels_of_crepes(answer, outcome, 0.9)
    assert low == pytest.approx(at_level(answer.distribution(), lowest[0] - 0.01, 2.0))
    assert high == pytest.approx(at_level(answer.distribution(), highest[0] + 0.01, 2.0))


@pytest.mark.parametrize("seed", range(4))
def test_ends_that_follow_outcomes_stay_near_those_of_crepes_in_a_steady_world(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = 2_000
    answer, outcome = distributions(draw, rows)
    calibrator = LevelCalibrator(2.0)
    seen, fresh = np.full(rows, "seen"), np.zeros(rows, dtype=bool)
    calibrator.learn(answer, outcome, seen, fresh, np.arange(rows, dtype=float))
    low, high = calibrator.widen(answer, seen, fresh, np.full(rows, np.inf))
    for confidence, wider in ((0.84, 1), (0.96, -1)):
        lowest, highest = levels_of_crepes(answer, outcome, confidence)
        assert (wider * (at_level(answer.distribution(), lowest[0], 2.0) - low) > 0).all()
        assert (wider * (high - at_level(answer.distribution(), highest[0], 2.0)) > 0).all()
