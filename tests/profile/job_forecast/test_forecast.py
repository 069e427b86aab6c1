from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import prophase as ph
from prophase.profile.job_forecast.forecast import EarlyEnd, JobForecast, TargetForecast
from prophase.stats import Estimate


@pytest.fixture
def same_half() -> TargetForecast:
    """Most jobs alike took 40 min, some ended early; the range ends far above."""
    return TargetForecast(
        target="duration_s", unit="s", predicted=Estimate(2_400.0, 300.0, 36_000.0, level=0.9),
        confidence="low", reason="", stratum="partly", seen=1,
        quantiles={"0.1": 600.0, "0.5": 2_400.0, "0.9": 2_400.0},
    )  # fmt: skip


def test_nobody_is_told_to_plan_with_what_half_of_the_jobs_exceed(
    same_half: TargetForecast,
) -> None:
    said = "\n".join(
        JobForecast({}, "job", (same_half,), (), None, (), learnt_from=60, method="x").lines()
    )
    assert "half run about 40 min, 19 of 20 end within 10 h" in said
    assert same_half.careful == 36_000.0
    clear = replace(same_half, quantiles={"0.1": 600.0, "0.5": 2_400.0, "0.9": 9_000.0})
    assert clear.careful == 9_000.0
    # what ended lately ended early, and moved the range away from the later hump
    humps = replace(clear, early=EarlyEnd(0.5, 48.0, 40_000.0))
    assert humps.careful == 40_000.0


def test_a_job_is_said_to_run_until_its_limit_only_where_limits_end_jobs(
    same_half: TargetForecast,
) -> None:
    wide = replace(same_half, quantiles={"0.1": 20.0, "0.5": 160.0, "0.9": 3_570.0})
    late = replace(wide, quantiles={"0.1": 20.0, "0.5": 160.0, "0.9": 183.0})
    said = [
        JobForecast({"time_limit_s": 180.0}, "job", (one,), (), None, (), 60, "x").lines()[1]
        for one in (wide, late)
    ]
    assert "one in ten runs longer than 59.5 min" in said[0]
    assert "one in ten runs until the limit of 3 min" in said[1]


def test_the_reason_names_the_wider_group_beside_a_single_job() -> None:
    rng = np.random.default_rng(0)
    jobs = pd.DataFrame(
        {
            "user": ["ann", "bob"] * 30,
            "request_gpus": [1.0] * 58 + [8.0, 1.0],
            "duration_s": rng.uniform(100, 200, 60),
        }
    )
    model = ph.learn(jobs, method="backoff-median")
    few, many = (ph.ask(model, {"user": "ann", "gpus": n})["duration_s"].reason for n in (8, 1))
    assert few.startswith("based on 1 job with the same user and request, beside 30 jobs")
    assert "beside" not in many


def test_two_humps_are_told_although_a_few_outcomes_lie_between() -> None:
    """A kind that fails at once or runs for hours, pooled with a few jobs that are less alike."""
    draw = np.random.default_rng(3)
    failed, ran = draw.uniform(10, 140, 14), draw.lognormal(np.log(66_000), 0.15, 48)
    found = EarlyEnd.of(np.concatenate([failed, [700.0, 5_000.0], ran]))
    assert found is not None
    assert found.share == pytest.approx(14 / 64, abs=0.02)
    assert found.within < 700
    assert found.otherwise == pytest.approx(66_000, rel=0.1)


def test_one_wide_hump_is_not_two() -> None:
    draw = np.random.default_rng(4)
    assert all(EarlyEnd.of(draw.lognormal(8, 2.0, 64)) is None for _ in range(100))
