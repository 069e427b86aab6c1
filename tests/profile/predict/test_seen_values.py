from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.profile.job_forecast.forecast_builder import ask
from prophase.profile.predict.job_model import learn
from prophase.profile.predict.methods import predictor_named
from prophase.profile.predict.seen_values import SeenValues


def test_a_job_of_which_nearly_nothing_was_ever_seen_is_not_answered_for() -> None:
    rows = 200
    history = pd.DataFrame(
        {
            "user": ["ann", "bob"] * 100, "queue": ["long", "short"] * 100,
            "request_gpus": [1.0, 2.0] * 100, "request_cpu_cores": [4.0, 8.0] * 100,
            "request_memory_gib": [8.0, 16.0] * 100, "time_limit_s": [600.0, 60.0] * 100,
            "submit_s": 100.0 * np.arange(rows), "duration_s": [500.0, 50.0] * 100,
        }
    )  # fmt: skip
    model = learn(history, method="backoff-median")
    strange = {
        "user": "eve", "queue": "moon", "request_gpus": 64.0, "request_cpu_cores": 900.0,
        "request_memory_gib": 9000.0, "time_limit_s": 1e6,
    }  # fmt: skip
    found = ask(model, strange)["duration_s"]
    assert found.abstained
    assert found.reason == "6 of its 6 values were never seen in the history"
    assert model.predict(pd.DataFrame([strange]))["abstained"].tolist() == [True]
    known = {**strange, "user": "ann", "queue": "long", "request_gpus": 1.0, "time_limit_s": 600.0}
    some = ask(model, known)["duration_s"]
    usual = {name: history[name][0] for name in strange}
    all_known = ask(model, usual)["duration_s"]
    assert not some.abstained
    assert some.high / some.low >= all_known.high / all_known.low
    assert some.confidence != "high"


def test_a_range_widened_for_unseen_values_keeps_to_the_time_limit_and_the_clock() -> None:
    draw = np.random.default_rng(0)
    run = np.exp(draw.normal(3.0, 2.0, 400)).clip(1, 3600).round()
    history = pd.DataFrame(
        {
            "user": ["ann", "bob"] * 200, "request_gpus": [1.0, 2.0] * 200, "time_limit_s": 3600.0,
            "submit_s": 100.0 * np.arange(400), "duration_s": run,
        }
    )  # fmt: skip
    model = learn(history, method="backoff-median")
    strange = {"user": "eve", "request_gpus": 64.0, "time_limit_s": 3600.0}
    answers = [model.predict(pd.DataFrame([strange])).iloc[0], ask(model, strange)["duration_s"]]
    for found in answers:
        assert 1 <= found.low <= found.high <= 3600
        assert found.low == round(found.low)


def test_values_of_finished_jobs_are_strange_no_more() -> None:
    held = SeenValues.of(pd.DataFrame({"user": ["ann"], "request_gpus": [2.0]}))
    job = pd.DataFrame({"user": ["eve"], "request_gpus": [8.0]})
    assert held.novelty(job).strange.tolist() == [2]
    assert held.joined(job).novelty(job).strange.tolist() == [0]


def test_quantiles_rise_and_end_where_the_range_does(jobs: pd.DataFrame) -> None:
    for method in ("default", "shrinkage", "global-median"):
        predictor = predictor_named(method).fit(jobs[:500])
        asked = jobs[600:640]
        found, told = predictor.quantiles(asked), predictor.predict(asked)
        assert (np.diff(found, axis=1) >= -1e-9).all(), method
        np.testing.assert_allclose(found[:, 0], told["low"], rtol=0.02)
        np.testing.assert_allclose(found[:, -1], told["high"], rtol=0.02)


def test_jobs_that_end_at_once_or_run_long_are_told_as_such() -> None:
    draw = np.random.default_rng(0)
    rows = 400
    run = np.where(draw.random(rows) < 0.4, 4.0, 7200.0) * np.exp(draw.normal(0.0, 0.1, rows))
    submit = 10_000.0 * np.arange(rows)
    history = pd.DataFrame(
        {
            "user": draw.choice(["ann", "bob"], rows), "submit_s": submit, "end_s": submit + run,
            "duration_s": run,
        }
    )  # fmt: skip
    found = ask(learn(history), {"user": "ann"})
    early = found["duration_s"].early
    assert early is not None
    assert 0.25 < early.share < 0.55
    assert early.within < 10
    assert 5000 < early.otherwise < 9000
    assert any("the others run about" in line for line in found.lines())


def test_what_becomes_known_later_is_strange_until_then() -> None:
    history = pd.DataFrame(
        {
            "user": ["ann", "bob", "ann"], "request_gpus": [2.0, 4.0, 1.0],
            "end_s": [100.0, 200.0, 300.0],
        }
    )  # fmt: skip
    job = pd.DataFrame({"user": ["bob"] * 4, "request_gpus": [1.0] * 4})
    moments = np.array([50.0, 200.0, 250.0, 301.0])
    whole = SeenValues.of(history)
    assert whole.novelty(job, moments).strange.tolist() == [2, 2, 1, 0]
    in_parts = SeenValues.of(history[:1]).joined(history[2:]).joined(history[1:2])
    assert in_parts.novelty(job, moments).strange.tolist() == [2, 2, 1, 0]


def test_an_attribute_that_numbers_the_rows_is_not_learnt_from() -> None:
    rows = 200
    history = pd.DataFrame(
        {
            "user": ["ann", "bob"] * 100, "attr_row": np.arange(rows),
            "attr_size": [1.0, 5.0] * 100, "submit_s": 100.0 * np.arange(rows),
            "duration_s": [500.0, 50.0] * 100,
        }
    )  # fmt: skip
    model = learn(history, method="backoff-median")
    assert "attr_size" in model.told_apart
    assert "attr_row" not in model.told_apart
    job = {"user": "ann", "attr_row": 900.0, "attr_size": 5.0}
    assert model.seen.novelty(pd.DataFrame([job])).strange.tolist() == [0]


def test_the_last_digit_of_a_converted_amount_is_no_news() -> None:
    seen = SeenValues.of(pd.DataFrame({"request_memory_gib": [119.20928955078124]}))
    job = {"request_memory_gib": 119.20928955078125}
    assert seen.surprises(job) == []
    assert seen.novelty(pd.DataFrame([job])).strange.tolist() == [0]
    assert seen.novelty(pd.DataFrame([{"request_memory_gib": 119.3}])).strange.tolist() == [1]


def test_an_attribute_is_a_number_or_text_as_in_the_history() -> None:
    seen = SeenValues.of(pd.DataFrame({"attr_depth": [2.0], "attr_zone": ["1"]}))
    assert seen.in_kind({"attr_depth": "2", "attr_zone": 1.0}) == {
        "attr_depth": 2.0, "attr_zone": "1",
    }  # fmt: skip
