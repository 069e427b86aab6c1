from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.profile.job_forecast.forecast_builder import ask
from prophase.profile.predict.job_model import JobModel, learn
from prophase.profile.predict.missing_columns import Exemplars, absent_columns, fill_table


@pytest.fixture(scope="module")
def model() -> JobModel:
    rows = 400
    draw = np.random.default_rng(0)
    user = np.where(np.arange(rows) % 2 == 0, "ann", "bob")
    history = pd.DataFrame(
        {
            "user": user,
            "queue": np.where(user == "ann", "short", "long"),
            "request_gpus": draw.integers(1, 3, rows).astype(float),
            "submit_s": np.arange(rows, dtype=float),
            "duration_s": np.where(user == "ann", 60.0, 6000.0) * np.exp(draw.normal(0, 0.2, rows)),
        }
    )
    return learn(history, method="shrinkage")


def test_columns_that_no_job_says_are_taken_from_finished_jobs(model: JobModel) -> None:
    jobs = pd.DataFrame({"user": ["ann", "bob", "ann"]}, index=[7, 8, 9])
    assert absent_columns(model.exemplars, jobs) == ["queue", "request_gpus"]
    filled = fill_table(model.exemplars, jobs)
    assert filled is not None
    assert set(zip(filled.jobs["user"], filled.jobs["queue"], strict=True)) == {
        ("ann", "short"), ("bob", "long"),
    }  # fmt: skip
    assert filled.kind.tolist() == [0, 1, 0]
    found = model.predict(jobs)
    assert found.index.tolist() == [7, 8, 9]
    assert found["value"].between(40, 90).tolist() == [True, False, True]
    assert (found["low"] <= found["value"]).all()
    assert (found["value"] <= found["high"]).all()


def test_a_table_is_answered_as_its_jobs_one_by_one(model: JobModel) -> None:
    jobs = pd.DataFrame({"user": ["ann", "bob"], "queue": ["short", "long"]})
    table = model.predict(jobs)
    for row, job in zip(table.itertuples(), jobs.to_dict("records"), strict=True):
        alone = ask(model, job)["duration_s"]
        assert (alone.value, alone.low, alone.high) == pytest.approx((row.value, row.low, row.high))
        assert alone.reason == row.reason


def test_a_gap_that_only_some_jobs_have_is_left_as_it_is(model: JobModel) -> None:
    jobs = pd.DataFrame({"user": ["ann", None], "queue": ["short", "long"]})
    filled = fill_table(model.exemplars, jobs)
    assert filled is not None
    assert pd.isna(filled.jobs["user"][filled.stands_for == 1]).all()


def test_a_table_with_every_column_is_not_touched(model: JobModel) -> None:
    jobs = pd.DataFrame({"user": ["ann"], "queue": ["short"], "request_gpus": [1.0]})
    assert fill_table(model.exemplars, jobs) is None
    assert fill_table(model.exemplars, jobs[:0].drop(columns="queue")) is None


def test_where_nothing_agrees_the_last_burst_does_not_stand_for_all() -> None:
    users = [f"user{row % 7}" for row in range(300)] + ["burst"] * 100
    held = Exemplars.of(pd.DataFrame({"user": users, "request_gpus": 1.0}), ["user"])
    filled = [job["user"] for job in held.filled({"task": "ps"}, most=16)]
    assert len(filled) > 10
    assert 0 < filled.count("burst") < len(filled)
