from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.profile.predict.methods import METHODS, predictor_named

ANSWERS = ["value", "low", "high", "stratum", "seen", "reason", "abstained"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_answers_with_a_range_a_stratum_and_a_reason(
    name: str, jobs: pd.DataFrame
) -> None:
    if name == "time-limit":
        jobs = jobs.assign(time_limit_s=3600.0)
    found = predictor_named(name).fit(jobs[:900]).predict(jobs[900:])
    assert list(found) == ANSWERS
    assert found.index.equals(jobs[900:].index)
    assert not found["abstained"].any()
    assert (found["low"] <= found["value"]).all()
    assert (found["value"] <= found["high"]).all()
    assert found["reason"].str.len().gt(0).all()


@pytest.mark.parametrize("name", [name for name in METHODS if name != "time-limit"])
def test_no_method_reads_what_is_known_only_afterwards(name: str, jobs: pd.DataFrame) -> None:
    predictor = predictor_named(name).fit(jobs[:600])
    asked = jobs[900:950]
    bare = asked.drop(columns=["duration_s", "end_s", "memory_peak_gib", "after_secret"])
    forged = asked.assign(duration_s=1.0, memory_peak_gib=1e6, after_secret=-1.0)
    expected = predictor.predict(bare)
    pd.testing.assert_frame_equal(predictor.predict(asked), expected)
    pd.testing.assert_frame_equal(predictor.predict(forged), expected)


@pytest.mark.parametrize("name", ["backoff-median", "recent-median", "shrinkage", "mixture"])
def test_outcomes_after_a_submission_are_hidden_from_its_answer(
    name: str, jobs: pd.DataFrame
) -> None:
    cut = 900
    clock = float(jobs["submit_s"].iloc[cut])
    history = jobs[:cut][jobs["end_s"][:cut] < clock]
    predictor = predictor_named(name).fit(history)
    asked = jobs[cut : cut + 1]
    before = predictor.predict(asked, as_of="submit")
    later = jobs[jobs["end_s"] >= clock]
    after = predictor.update(later).predict(asked, as_of="submit")
    pd.testing.assert_frame_equal(before, after)


@pytest.mark.parametrize("name", ["backoff-median", "mixture"])
def test_jobs_that_ask_the_same_are_answered_as_each_alone(name: str, jobs: pd.DataFrame) -> None:
    predictor = predictor_named(name).fit(jobs[:900])
    few = jobs[900:910].drop(columns=["submit_s", "start_s"], errors="ignore")
    rows = np.tile(np.arange(10), 20)
    found = predictor.predict(few.iloc[rows])
    alone = pd.concat([predictor.predict(few[row : row + 1]) for row in range(10)])
    pd.testing.assert_frame_equal(found, alone.iloc[rows])
    levels = predictor.quantiles(few.iloc[rows])
    np.testing.assert_allclose(levels, predictor.quantiles(few)[rows])


def test_the_order_of_a_history_s_rows_does_not_matter(jobs: pd.DataFrame) -> None:
    jobs = jobs.assign(end_s=jobs["end_s"] + 1e-3 * np.arange(len(jobs)))
    mixed = jobs[:900].sample(frac=1.0, random_state=1)
    one, other = (predictor_named("mixture").fit(some) for some in (jobs[:900], mixed))
    pd.testing.assert_frame_equal(one.predict(jobs[900:]), other.predict(jobs[900:]))


def test_jobs_are_ranked_by_the_square_of_the_mean_root_of_what_may_happen() -> None:
    rows = 400
    # one kind ends after an hour; the other fails at once, or runs for four
    steady = np.arange(rows) % 2 == 0
    long = np.random.default_rng(0).random(rows) < 0.4
    run = np.where(steady, 3600.0, np.where(long, 14400.0, 60.0))
    submit = 20_000.0 * np.arange(rows)
    jobs = pd.DataFrame({"user": np.where(steady, "ann", "bob"), "submit_s": submit})
    jobs = jobs.assign(duration_s=run, end_s=submit + run)
    asked = pd.DataFrame({"user": ["ann", "bob"]})
    ann, bob = predictor_named("mixture").fit(jobs).predict(asked, ordered=True)["order_by"]
    assert ann == pytest.approx(3600.0, rel=0.2)
    # roots 120 and 7.7: between the median of 60 s and the mean of 5,800
    assert 1_000 < bob < 4_500
    plain = predictor_named("backoff-median").fit(jobs).predict(asked, ordered=True)
    np.testing.assert_allclose(plain["order_by"], plain["value"])


def test_a_finished_job_counts_in_the_next_answer_without_a_refit(jobs: pd.DataFrame) -> None:
    predictor = predictor_named("recent-median").fit(jobs[:600])
    newcomer = jobs[900:901].assign(user="new", group="new", task="new", request_gpus=3.0)
    assert predictor.predict(newcomer)["stratum"].item() == "new"
    predictor.update(newcomer.assign(duration_s=4321.0))
    found = predictor.predict(newcomer)
    assert found["value"].item() == pytest.approx(4321.0)
    assert found["stratum"].item() == "seen"
    assert found["reason"].item().startswith("based on 1 job ")


@pytest.mark.parametrize("name", ["global-median", "backoff-median", "recent-median", "shrinkage"])
def test_updates_one_by_one_equal_learning_everything_at_once(
    name: str, jobs: pd.DataFrame
) -> None:
    grown = predictor_named(name).fit(jobs[:300])
    for row in range(300, 400):
        grown.update(jobs[row : row + 1])
    grown.update(jobs[400:800])
    whole = predictor_named(name).fit(jobs[:800])
    asked = jobs[1000:]
    np.testing.assert_allclose(
        grown.predict(asked)["value"], whole.predict(asked)["value"], rtol=1e-9
    )


def test_too_little_history_is_answered_with_silence_and_a_reason(jobs: pd.DataFrame) -> None:
    found = predictor_named("shrinkage").fit(jobs[:5]).predict(jobs[10:12])
    assert found["abstained"].all()
    assert found["value"].isna().all()
    assert "fewer than 10" in found["reason"].iloc[0]


def test_a_job_without_a_limit_gets_no_answer_from_its_limit(jobs: pd.DataFrame) -> None:
    limits = jobs.assign(time_limit_s=np.where(np.arange(len(jobs)) % 2, 7200.0, np.nan))
    found = predictor_named("time-limit").fit(limits[:900]).predict(limits[900:])
    assert found["abstained"].tolist() == [True, False] * 150
    assert found["value"].dropna().to_numpy() == pytest.approx(7200.0)


@pytest.mark.parametrize("name", METHODS)
def test_a_history_without_any_outcome_is_refused(name: str, jobs: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="no row of the history has a value of duration_s"):
        predictor_named(name).fit(jobs.assign(duration_s=np.nan))


def test_an_unknown_target_is_refused_with_those_that_are_there(jobs: pd.DataFrame) -> None:
    with pytest.raises(MissingColumnError, match="memory_peak_gib"):
        predictor_named("shrinkage").fit(jobs, "memory_peek_gib")


def test_an_unknown_method_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'mixture'"):
        predictor_named("mixtur")


def test_predicting_before_fitting_is_refused(jobs: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="is not fitted yet"):
        predictor_named("shrinkage").predict(jobs)


@pytest.mark.parametrize("name", ["backoff-median", "mixture"])
def test_histories_without_clocks_or_with_one_kind_of_job_are_answered(
    name: str, jobs: pd.DataFrame
) -> None:
    no_clock = jobs.drop(columns=["submit_s", "start_s", "end_s"])
    assert predictor_named(name).fit(no_clock[:400]).predict(no_clock[400:410]).notna().all().all()
    alike = pd.DataFrame({"job_id": [f"{n}" for n in range(60)], "duration_s": 100.0})
    found = predictor_named(name).fit(alike).predict(alike[:2])
    assert found["value"].to_numpy() == pytest.approx(100.0)


@pytest.mark.parametrize("name", ["shrinkage", "mixture"])
def test_columns_and_categories_never_seen_do_not_stop_an_answer(
    name: str, jobs: pd.DataFrame
) -> None:
    predictor = predictor_named(name).fit(jobs[:400])
    strange = pd.DataFrame({"job_id": ["x"], "user": ["nobody"], "attr_colour": ["red"]})
    found = predictor.predict(strange)
    assert found["stratum"].item() == "new"
    assert np.isfinite(found["value"].item())
    assert predictor.predict(strange[:0]).empty


def test_the_same_seed_gives_the_same_answers(jobs: pd.DataFrame) -> None:
    first, second = (
        predictor_named("mixture", random_state=3).fit(jobs[:400]).predict(jobs[400:450])
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(first, second)


def test_runs_shorter_than_a_second_are_learnt_where_the_clock_is_finer() -> None:
    jobs = pd.DataFrame({"user": ["ann", "bob"] * 30, "duration_s": [0.25, 90.5] * 30})
    found = predictor_named("backoff-median").fit(jobs).predict(jobs[:2])
    assert found["value"].tolist() == pytest.approx([0.25, 90.5])


def test_a_limit_that_stands_for_unlimited_says_nothing_of_jobs_with_a_small_one() -> None:
    draw = np.random.default_rng(0)
    need, limit = np.exp(draw.normal(8.2, 1.0, 400)), draw.choice([3_500.0, 1e9, 1e9], 400)
    submit, run = 1e4 * np.arange(400), np.minimum(need, limit)
    jobs = pd.DataFrame(
        {"user": "ann", "time_limit_s": limit, "submit_s": submit, "end_s": submit + run,
         "duration_s": run, "status": np.where(need > limit, "timeout", "completed")}
    )  # fmt: skip
    asked = pd.DataFrame({"user": ["ann"], "time_limit_s": [3_500.0]})
    found = predictor_named("default").fit(jobs).predict(asked)
    assert found["low"].item() > 60
    assert found["high"].item() <= 3_500
