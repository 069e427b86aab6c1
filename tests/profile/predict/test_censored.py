from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from prophase.profile.predict.methods import predictor_named


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


def test_the_median_of_censored_jobs_is_that_of_kaplan_and_meier() -> None:
    jobs = log_of(600)
    cut = (jobs["status"] == "timeout").to_numpy()
    survival = stats.ecdf(stats.CensoredData.right_censored(jobs["duration_s"].to_numpy(), cut)).sf
    judged = float(survival.quantiles[np.argmax(survival.probabilities <= 0.5)])
    asked = pd.DataFrame({"user": ["ann"], "group": ["a"], "time_limit_s": [np.nan]})
    for method in ("global-median", "user-median"):
        found = predictor_named(method).fit(jobs).predict(asked)["value"][0]
        assert abs(np.log(found / judged)) < 0.15, method
