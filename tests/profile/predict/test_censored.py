from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from sksurv.nonparametric import kaplan_meier_estimator

from prophase.profile.predict.conformal_range import conformal_quantile
from prophase.profile.predict.methods import predictor_named
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.range_levels import LevelCalibrator


def log_of(rows: int = 400) -> pd.DataFrame:
    """Jobs of one user take an hour or so; half of them ask for too little and are killed."""
    draw = np.random.default_rng(0)
    need = np.exp(draw.normal(np.log(3600.0), 0.3, rows))
    limit = np.where(np.arange(rows) % 2 == 0, 1800.0, 86_400.0)
    run = np.minimum(need, limit)
    submit = 10_000.0 * np.arange(rows)
    return pd.DataFrame(
        {
            "user": "ann", "group": draw.choice(["a", "b"], rows), "time_limit_s": limit,
            "submit_s": submit, "start_s": submit, "end_s": submit + run, "duration_s": run,
            "status": np.where(need > limit, "timeout", "completed"),
        }
    )  # fmt: skip


def test_a_job_killed_at_its_limit_counts_as_at_least_that_long() -> None:
    jobs = log_of()
    asked = pd.DataFrame({"user": ["ann"], "group": ["a"], "time_limit_s": [50_000.0]})
    unaware = jobs.assign(status="completed")
    for method in ("backoff-median", "user-median", "recent-median", "shrinkage"):
        told, naive = (predictor_named(method).fit(one).predict(asked) for one in (jobs, unaware))
        assert told["value"][0] > naive["value"][0], method
        assert 2700 < told["value"][0] < 4600, method


def test_with_the_same_limit_the_job_is_still_predicted_to_end_there() -> None:
    jobs = log_of()
    asked = pd.DataFrame({"user": ["ann"], "group": ["a"], "time_limit_s": [1800.0]})
    found = predictor_named("default").fit(jobs).predict(asked)
    assert found["value"][0] <= 1801
    assert found["high"][0] <= 1801


def test_jobs_still_running_make_predictions_longer() -> None:
    jobs = log_of().assign(time_limit_s=np.nan, status="completed")
    rows = np.arange(len(jobs))
    now = jobs["end_s"].max() + 1e6
    running = jobs[rows % 3 == 0].assign(
        duration_s=np.nan, end_s=np.nan, status="running", submit_s=now - 2e5, start_s=now - 2e5
    )
    clock = jobs[:1].assign(submit_s=now, start_s=now, end_s=now + 3600.0)
    whole = pd.concat([jobs, running, clock], ignore_index=True)
    asked = jobs[:1].drop(columns=["duration_s", "end_s"])
    without = predictor_named("backoff-median").fit(whole[whole["status"] == "completed"])
    told = predictor_named("backoff-median").fit(whole)
    assert told.predict(asked)["value"].iloc[0] >= without.predict(asked)["value"].iloc[0]


def with_limits(seed: int, limits: Sequence[float], spread: float) -> pd.DataFrame:
    """Jobs of two groups that need the same, under limits that were drawn for them."""
    draw = np.random.default_rng(seed)
    rows = 900
    need = np.exp(draw.normal(np.log(3600.0), spread, rows))
    limit = draw.choice(np.array(limits), rows)
    submit, run = 10_000.0 * np.arange(rows), np.minimum(need, limit)
    return pd.DataFrame(
        {
            "user": "ann", "group": draw.choice(["a", "b"], rows), "time_limit_s": limit,
            "submit_s": submit, "start_s": submit, "end_s": submit + run, "duration_s": run,
            "status": np.where(need > limit, "timeout", "completed"),
        }
    )  # fmt: skip


def median_of_survival(jobs: pd.DataFrame) -> float:
    """Kaplan and Meier's median, as scikit-survival computes it."""
    ended = (jobs["status"] != "timeout").to_numpy()
    time, survival = kaplan_meier_estimator(ended, jobs["duration_s"].to_numpy())
    return float(time[np.argmax(survival <= 0.5)])


@pytest.mark.parametrize("spread", [0.3, 1.0])
@pytest.mark.parametrize(
    "limits",
    [(1800.0, 86_400.0), (3500.0, 86_400.0), (2500.0, 3500.0, 5000.0, 86_400.0),
     (1000.0, 4000.0, 86_400.0)],
)  # fmt: skip
def test_the_median_of_censored_jobs_is_that_of_kaplan_and_meier(
    limits: Sequence[float], spread: float
) -> None:
    asked = pd.DataFrame({"user": ["ann"], "group": ["a"], "time_limit_s": [np.nan]})
    miss = []
    for seed in range(4):
        jobs = with_limits(seed, limits, spread)
        judged = median_of_survival(jobs)
        found = predictor_named("global-median").fit(jobs).predict(asked)["value"][0]
        # what is remembered is a sample of 24 of the longer jobs, hence not to the second
        assert abs(np.log(found / judged)) < 0.25, seed
        miss.append(np.log(found / judged))
        # of the own group as well
        own = jobs[jobs["group"] == "a"]
        found = predictor_named("user-median").fit(jobs).predict(asked)["value"][0]
        assert abs(np.log(found / median_of_survival(own))) < 0.25, seed
    # neither too long nor too short as a rule
    assert abs(np.mean(miss)) < 0.1


def test_learning_little_by_little_lengthens_as_learning_at_once_does() -> None:
    jobs = with_limits(0, (1800.0, 86_400.0), 1.0)
    asked = pd.DataFrame({"user": ["ann"], "group": ["a"], "time_limit_s": [np.nan]})
    slowly = predictor_named("global-median").fit(jobs[:450])
    for row in range(450, len(jobs), 9):
        slowly.update(jobs[row : row + 9])
    found = slowly.predict(asked)["value"][0]
    assert abs(np.log(found / median_of_survival(jobs))) < 0.25


def test_a_job_without_a_limit_is_not_measured_from_the_limits_of_others() -> None:
    jobs = with_limits(0, (3500.0, 1e9, 1e9), 1.0)
    asked = pd.DataFrame({"user": ["ann"], "group": ["a"], "time_limit_s": [np.nan]})
    found = predictor_named("default").fit(jobs).predict(asked).iloc[0]
    middle = median_of_survival(jobs)
    assert 0.5 < found["value"] / middle < 2.0
    assert found["low"] > 0.01 * middle


@pytest.mark.parametrize("seed", range(5))
def test_the_quantile_with_bounds_is_kaplan_and_meiers(seed: int) -> None:
    draw = np.random.default_rng(seed)
    true, seen_until = draw.exponential(size=200), draw.exponential(3.0, 200)
    ended = true <= seen_until
    level = np.minimum(true, seen_until)
    bounds, jobs = level[~ended], np.ones((~ended).sum(), int)
    found = conformal_quantile(level[ended], np.inf, bounds=bounds, jobs=jobs)
    # the outcome to come is one more, of which nothing is known
    time, beyond = kaplan_meier_estimator(np.append(ended, False), np.append(level, 1e9))
    assert found == pytest.approx(time[beyond <= 0.05][0])


@pytest.mark.parametrize("half_lives", [(np.inf,), (20.0, 100.0)])
def test_without_bounds_it_is_the_smallest_score_of_enough_weight(
    half_lives: tuple[float, ...],
) -> None:
    for rows in (5, 30, 300):
        scores = np.random.default_rng(rows).normal(size=rows)
        found = []
        for half_life in half_lives:
            weight = 0.5 ** (np.arange(rows)[::-1] / half_life)
            below = [weight[scores <= one].sum() / (weight.sum() + 1.0) for one in scores]
            found.append(min(scores[np.array(below) >= 0.95], default=scores.max()))
        assert conformal_quantile(scores, *half_lives) == max(found)


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
