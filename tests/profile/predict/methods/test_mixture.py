from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from prophase.profile.predict.evaluation import evaluate
from prophase.profile.predict.methods import mixture as module
from prophase.profile.predict.methods import predictor_named
from prophase.profile.predict.methods.mixture import Mixture


def test_the_default_is_no_worse_than_medians_where_medians_are_best() -> None:
    """Groups without any pattern in their requests: a group's own median cannot be beaten."""
    draw = np.random.default_rng(0)
    group = draw.integers(0, 60, 900)
    typical = np.exp(draw.normal(5.0, 2.0, 60))
    submit = 100.0 * np.arange(900)
    run = typical[group] * np.exp(draw.normal(0.0, 0.3, 900))
    jobs = pd.DataFrame(
        {
            "group": [f"g{g}" for g in group],
            "submit_s": submit,
            "end_s": submit + run,
            "duration_s": run,
        }
    )
    found = evaluate(jobs[:650], jobs[650:], ["default", "backoff-median"]).methods
    assert found["default"]["within_x2_pct"] > found["backoff-median"]["within_x2_pct"] - 2
    assert found["default"]["r2_log"] > found["backoff-median"]["r2_log"] - 0.02


def test_experts_are_weighed_and_those_without_use_are_left_out(jobs: pd.DataFrame) -> None:
    predictor = predictor_named("mixture").fit(jobs[:400])
    assert isinstance(predictor, Mixture)
    weights, _ = predictor.weights_.at(np.arange(4), np.full(4, np.inf))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert "from_limit" not in predictor.weights_.names
    limits = jobs.assign(time_limit_s=2 * jobs["duration_s"])
    known = predictor_named("mixture").fit(limits[:400])
    assert isinstance(known, Mixture)
    assert "from_limit" in known.weights_.names
    misses = np.log(known.predict(limits[400:600])["value"] / limits["duration_s"][400:600])
    assert np.abs(misses).median() < 0.1


def test_on_a_cluster_it_never_saw_it_follows_the_rule_that_holds_there() -> None:
    """Names and requests mean something else there, and the user's own past is all that counts."""
    draw = np.random.default_rng(3)

    def cluster(name: str, shift: float, begin: float, rows: int) -> pd.DataFrame:
        user, cores = draw.integers(0, 8, rows), draw.integers(1, 5, rows)
        submit = begin + 1000.0 * np.arange(rows)
        middle = 3.0 + 0.7 * cores if shift == 0 else shift + 0.8 * user
        run = np.exp(middle + draw.normal(0.0, 0.3, rows))
        return pd.DataFrame(
            {
                "user": [f"u{u}" for u in user], "request_cpu_cores": cores.astype(float),
                "attr_cluster": name, "submit_s": submit, "end_s": submit + run,
                "duration_s": run,
            }
        )  # fmt: skip

    home, abroad = cluster("home", 0.0, 0.0, 900), cluster("abroad", 4.0, 1e6, 600)
    found = evaluate(home, abroad, ["default", "backoff-median"], online=True).methods
    assert found["default"]["within_x2_pct"] > found["backoff-median"]["within_x2_pct"] - 1
    assert found["default"]["r2_log"] > found["backoff-median"]["r2_log"] - 0.02
    once = evaluate(home, abroad, ["default", "global-median"]).methods
    assert once["default"]["within_x2_pct"] >= once["global-median"]["within_x2_pct"] - 1


def test_the_median_of_the_latest_jobs_is_told_where_it_leads(
    jobs: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    # some twenty jobs of a group
    jobs = jobs.drop(columns=["task", "request_gpus"])
    asked = jobs[800:900]
    told, recent, simple = (
        predictor_named(name).fit(jobs[:800])
        for name in ("mixture", "recent-median", "backoff-median")
    )
    assert isinstance(told, Mixture)
    monkeypatch.setattr(told.leading_, "leaders", lambda kinds, *_, **__: np.full(len(kinds), 2))
    lately = recent.predict(asked)["value"]
    np.testing.assert_allclose(told.predict(asked)["value"], lately)
    assert (lately != simple.predict(asked)["value"]).mean() > 0.5


def test_updates_one_by_one_equal_a_batch_within_one_percent(jobs: pd.DataFrame) -> None:
    one_by_one, batch = (predictor_named("mixture").fit(jobs[:300]) for _ in range(2))
    for row in range(300, 330):
        one_by_one.update(jobs[row : row + 1])
    batch.update(jobs[300:330])
    asked = jobs[600:650]
    for column in ("value", "low", "high"):
        np.testing.assert_allclose(
            one_by_one.predict(asked)[column], batch.predict(asked)[column], rtol=0.01
        )


@pytest.mark.parametrize("value", [0.0, 7.5])
def test_a_target_that_is_always_the_same_is_answered_with_it(
    value: float, jobs: pd.DataFrame
) -> None:
    steady = jobs.assign(gpu_memory_peak_gib=value)
    found = predictor_named("mixture").fit(steady[:300], "gpu_memory_peak_gib")
    told = found.predict(steady[300:310])
    assert not told["abstained"].any()
    # zero has no logarithm: half of the smallest positive value, or of one, stands in
    np.testing.assert_allclose(told["value"], value or 0.5, rtol=0.02)


def test_rows_without_a_target_are_left_out(jobs: pd.DataFrame) -> None:
    holes = jobs.assign(duration_s=jobs["duration_s"].where(np.arange(len(jobs)) % 3 > 0))
    full = holes.dropna(subset="duration_s")
    asked = jobs[900:920]
    np.testing.assert_allclose(
        predictor_named("mixture").fit(holes[:600]).predict(asked)["value"],
        predictor_named("mixture").fit(full[full.index < 600]).predict(asked)["value"],
    )


@pytest.mark.parametrize("part", [300, 20])
def test_of_a_long_history_all_jobs_are_learnt_from(
    part: int, jobs: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PART", part)
    places: set[int] = set()
    taught = module.lessons

    def noted(*given: Any) -> Iterator[Any]:
        for asked, answers in taught(*given):
            places.update(asked.places.tolist())
            yield asked, answers

    monkeypatch.setattr(module, "lessons", noted)
    held = Mixture().fit(jobs[:700])
    assert len(places) >= 0.9 * 700
    assert {len(forest.kept_) for forest in held.forests_.values()} == {24}
    assert np.isfinite(held.predict(jobs[700:720])["value"]).all()


def test_where_no_job_ended_before_the_others_came_the_back_off_median_is_told() -> None:
    draw = np.random.default_rng(2)
    rows = 400
    jobs = pd.DataFrame({"user": draw.choice(list("abcdef"), rows)})
    jobs["submit_s"] = np.arange(rows, dtype=float)
    # short or long by chance: half of a distribution is never near its middle
    jobs["duration_s"] = (
        1e4 * np.where(draw.random(rows) < 0.45, 1.0, 60.0) * draw.lognormal(size=rows)
    )
    jobs["end_s"] = jobs["submit_s"] + jobs["duration_s"] + rows
    asked = jobs[:20].drop(columns=["duration_s", "end_s"])
    told, simple = (
        predictor_named(name).fit(jobs).predict(asked)["value"].to_numpy()
        for name in ("default", "backoff-median")
    )
    assert told == pytest.approx(simple)


def test_ranges_of_a_burst_are_calibrated_although_no_job_ended_before_the_others_came() -> None:
    draw = np.random.default_rng(0)
    user, submit = draw.integers(0, 6, 400), np.linspace(0.0, 60.0, 400)
    run = 1000.0 * np.exp(draw.normal(0.5 * user, 0.4))
    run[draw.choice(400, 4, replace=False)] *= 1_000.0
    jobs = pd.DataFrame(
        {"user": user.astype(str), "submit_s": submit, "end_s": submit + run, "duration_s": run}
    )
    later = jobs[300:]
    widths = []
    for left_out in (None, 100, 200):
        known = jobs[:300] if left_out is None else jobs[:300].drop(index=left_out)
        found = predictor_named("mixture").fit(known).predict(later)
        inside = (found["low"] <= later["duration_s"]) & (later["duration_s"] <= found["high"])
        assert inside.mean() > 0.85
        widths.append(float((found["high"] / found["low"]).median()))
    # as wide as everything that ever happened would be a factor of 36 millions
    assert max(widths) < 1_000
    assert max(widths) < 1.5 * min(widths)
