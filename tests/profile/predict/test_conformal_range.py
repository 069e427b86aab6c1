from __future__ import annotations

import numpy as np
import pytest

from prophase.profile.predict.conformal_range import Calibrator
from prophase.profile.predict.point_and_range import PointAndRange


def answered(
    draw: np.random.Generator, rows: int, spread: float
) -> tuple[PointAndRange, np.ndarray]:
    """Answers whose own range is half as wide as it should be, and outcomes."""
    point = draw.normal(6.0, 2.0, rows)
    outcome = point + draw.normal(0.0, spread, rows)
    reach = 0.5 * 1.645 * spread
    return PointAndRange(point, point - reach, point + reach), outcome


def covered(low: np.ndarray, high: np.ndarray, outcome: np.ndarray) -> float:
    return float(((low <= outcome) & (outcome <= high)).mean())


@pytest.mark.parametrize("spread", [0.1, 1.0])
def test_ranges_that_were_too_narrow_cover_nine_in_ten_afterwards(spread: float) -> None:
    draw = np.random.default_rng(0)
    calibrator = Calibrator()
    rows = 3_000
    seen, fresh = np.full(rows, "seen"), np.zeros(rows, dtype=bool)
    answer, outcome = answered(draw, rows, spread)
    calibrator.learn(answer, outcome, seen, fresh, np.arange(rows, dtype=float))
    answer, outcome = answered(draw, rows, spread)
    low, high = calibrator.widen(answer, seen, fresh, np.full(rows, np.inf))
    assert 0.88 <= covered(low, high, outcome) <= 0.92
    # the true range, neither more nor less
    assert np.median(high - low) == pytest.approx(2 * 1.645 * spread, rel=0.1)


def test_each_stratum_gets_its_own_margin() -> None:
    draw = np.random.default_rng(1)
    calibrator = Calibrator()
    rows = 4_000
    kinds = np.where(np.arange(rows) % 4 == 0, "new", "seen")
    fresh = np.zeros(rows, dtype=bool)

    def ask() -> tuple[PointAndRange, np.ndarray]:
        answer, outcome = answered(draw, rows, 0.3)
        return answer, np.where(kinds == "new", outcome + draw.normal(0, 2.0, rows), outcome)

    answer, outcome = ask()
    calibrator.learn(answer, outcome, kinds, fresh, np.arange(rows, dtype=float))
    answer, outcome = ask()
    low, high = calibrator.widen(answer, kinds, fresh, np.full(rows, np.inf))
    for kind in ("seen", "new"):
        part = kinds == kind
        assert 0.86 <= covered(low[part], high[part], outcome[part]) <= 0.94
    assert np.median((high - low)[kinds == "new"]) > 3 * np.median((high - low)[kinds == "seen"])


def test_a_change_counts_once_its_outcomes_are_known_and_not_before() -> None:
    draw = np.random.default_rng(2)
    calibrator = Calibrator()
    rows = 4_000
    seen, fresh = np.full(rows, "seen"), np.zeros(rows, dtype=bool)
    ends = np.arange(rows, dtype=float)
    answer, outcome = answered(draw, rows, 0.5)
    outcome[2_000:] += draw.normal(0.0, 2.0, 2_000)
    calibrator.learn(answer, outcome, seen, fresh, ends)
    low, high = calibrator.widen(answer, seen, fresh, ends)
    width = high - low
    assert np.median(width[1_000:2_000]) < 0.6 * np.median(width[3_500:])
    alone = Calibrator()
    early = slice(0, 1_500)
    part = PointAndRange(answer.point[early], answer.low[early], answer.high[early])
    alone.learn(part, outcome[early], seen[early], fresh[early], ends[early])
    asked = PointAndRange(answer.point[:1], answer.low[:1], answer.high[:1])
    moment = np.array([1_500.0])
    assert alone.widen(asked, seen[:1], fresh[:1], moment) == calibrator.widen(
        asked, seen[:1], fresh[:1], moment
    )


def test_without_any_outcome_a_range_is_endless() -> None:
    answer = PointAndRange(np.zeros(1), np.zeros(1), np.zeros(1))
    low, high = Calibrator().widen(answer, np.array(["seen"]), np.array([False]), np.array([1.0]))
    assert low[0] == -np.inf
    assert high[0] == np.inf


def test_an_outcome_on_the_edge_of_an_unwidened_range_is_inside() -> None:
    answer = PointAndRange(np.zeros(100), np.zeros(100), np.zeros(100))
    seen, fresh = np.full(100, "seen"), np.zeros(100, dtype=bool)
    calibrator = Calibrator()
    calibrator.learn(answer, np.zeros(100), seen, fresh, np.arange(100.0))
    low, high = calibrator.widen(answer, seen, fresh, np.full(100, np.inf))
    assert (low <= 0).all()
    assert (high >= 0).all()
    assert (high - low).max() < 1e-9


def test_a_margin_that_suits_narrow_ranges_does_not_carry_wide_ones_away() -> None:
    draw = np.random.default_rng(4)
    rows = 1_000
    narrow = np.arange(rows) % 10 < 9
    point = np.full(rows, 6.0)
    reach = np.where(narrow, 0.01, 5.0)
    outcome = point + draw.normal(0.0, 1.0, rows)
    seen, fresh = np.full(rows, "seen"), np.zeros(rows, dtype=bool)
    answer = PointAndRange(point, point - reach, point + reach)
    calibrator = Calibrator()
    calibrator.learn(answer, outcome, seen, fresh, np.arange(rows, dtype=float))
    low, high = calibrator.widen(answer, seen, fresh, np.full(rows, np.inf))
    assert covered(low, high, outcome) >= 0.9
    assert (high - low).max() < 20
