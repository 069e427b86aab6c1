from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.profile.predict.methods import METHODS, predictor_named
from prophase.profile.predict.recorded_bounds import RecordedBounds


def test_limits_that_are_not_kept_bound_nothing() -> None:
    limit = np.full(200, 600.0)
    run = np.where(np.arange(200) % 5 == 0, 5_000.0, 100.0)
    assert np.isposinf(RecordedBounds.of(run, limit).longest(limit)).all()


def test_outcomes_with_fractions_are_left_as_they_are() -> None:
    held = RecordedBounds.of(np.linspace(0.5, 9.7, 100), np.full(100, np.nan))
    told = held.recorded(np.array([0.071]), np.array([0.01]), np.array([0.9]))
    assert [float(part[0]) for part in told] == [0.071, 0.01, 0.9]


def test_no_answer_exceeds_what_the_limit_allows_nor_is_finer_than_the_clock() -> None:
    draw = np.random.default_rng(0)
    limit = draw.choice([60.0, 600.0, 6_000.0], 400)
    run = np.ceil(np.minimum(np.exp(draw.normal(5.0, 2.5, 400)), limit + 3))
    submit = 500.0 * np.arange(400)
    jobs = pd.DataFrame(
        {
            "user": draw.choice(["ann", "bob"], 400), "time_limit_s": limit, "submit_s": submit,
            "end_s": submit + run, "duration_s": run,
        }
    )  # fmt: skip
    for method in (name for name in METHODS if not name.startswith("profile-")):
        found = predictor_named(method).fit(jobs[:300]).predict(jobs[300:])
        assert (found["high"] <= jobs["time_limit_s"][300:] + 3 + 1e-6).all(), method
        assert (found["low"] >= 1).all(), method
        assert ((found["low"] <= found["value"]) & (found["value"] <= found["high"])).all(), method
