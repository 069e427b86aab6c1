from __future__ import annotations

import numpy as np
import pytest
from sksurv.nonparametric import kaplan_meier_estimator

from prophase.profile.predict.conformal_range import conformal_quantile
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.range_levels import LevelCalibrator
from prophase.profile.predict.running_levels import bounded_quantile


@pytest.mark.parametrize("seed", range(5))
def test_the_quantile_with_bounds_is_kaplan_and_meiers(seed: int) -> None:
    draw = np.random.default_rng(seed)
    true, seen_until = draw.exponential(size=200), draw.exponential(3.0, 200)
    ended = true <= seen_until
    level = np.minimum(true, seen_until)
    found = bounded_quantile(level[ended], level[~ended], np.inf)
    # the outcome to come is one more, of which nothing is known
    time, beyond = kaplan_meier_estimator(np.append(ended, False), np.append(level, 1e9))
    assert found == pytest.approx(time[beyond <= 0.05][0])


@pytest.mark.parametrize("half_lives", [(np.inf,), (20.0, 100.0)])
def test_without_bounds_it_is_the_conformal_quantile(half_lives: tuple[float, ...]) -> None:
    for rows in (5, 30, 300):
        levels = np.random.default_rng(rows).normal(size=rows)
        found = bounded_quantile(levels, np.empty(0), *half_lives)
        assert found == conformal_quantile(levels, *half_lives)


def missed_above(*, running: bool) -> float:
    """Jobs of hours or seconds, all within a day: long ones end long after their like came."""
    draw = np.random.default_rng(1)
    rows = 4_000
    came = np.sort(draw.uniform(0.0, 86_400.0, rows))
    # the distribution says a minute or so, and from the morning on one in eight takes half a day
    steps = np.tile(np.sort(draw.normal(4.0, 0.5, 64)), (rows, 1))
    long = (came > 20_000.0) & (draw.random(rows) < 0.12)
    outcome = np.where(long, np.log(30_000.0), draw.normal(4.0, 0.5, rows))
    answer = PointAndRange(np.full(rows, 4.0), steps[:, 3], steps[:, 60], steps)
    seen, fresh = np.full(rows, "seen"), np.zeros(rows, dtype=bool)
    calibrator = LevelCalibrator(2.0)
    calibrator.learn(
        answer, outcome, seen, fresh, came + np.exp(outcome), came, came if running else None
    )
    _, high = calibrator.widen(answer, seen, fresh, came)
    before_the_first_ends = (came > 25_000.0) & (came < 50_000.0)
    return float((outcome > high)[before_the_first_ends].mean())


def test_jobs_that_outlive_their_ranges_count_before_they_end() -> None:
    assert missed_above(running=False) > 0.09
    # how much longer is not known before they end, but that they are longer is
    assert missed_above(running=True) < missed_above(running=False)
