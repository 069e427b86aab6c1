"""Splits: nothing on both sides, nothing learnt before it had ended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.trace.split import (
    SEEDED_SPLITS,
    Split,
    split_by_job,
    split_by_row,
    split_by_time,
    split_by_user,
    time_folds,
)
from prophase.trace.trace_tables import open_trace


def a_trace(seed: int, rows: int = 200) -> pd.DataFrame:
    """Jobs with waits, long tails, gaps in every column, parents and users of uneven size."""
    random = np.random.default_rng(seed)
    submit = np.sort(random.integers(0, 50, rows).astype(float))
    start = submit + random.exponential(2, rows).round(1)
    end = start + random.lognormal(1, 1.5, rows).round(1)
    jobs = pd.DataFrame(
        {
            "job_id": [f"j{n}" for n in range(rows)],
            "parent_id": [f"p{n}" for n in random.zipf(1.8, rows) % 40],
            "user": [f"u{n}" for n in random.zipf(1.8, rows) % 20],
            "submit_s": submit,
            "start_s": start,
            "end_s": end,
        }
    )
    for column in ("parent_id", "user", "submit_s", "start_s", "end_s"):
        jobs.loc[random.random(rows) < 0.05, column] = None
    return jobs.sample(frac=1, random_state=seed, ignore_index=True)


TRACES = st.integers(0, 10_000).map(a_trace)
SHARES = st.floats(0.1, 0.9)


def assert_each_row_is_somewhere_once(split: Split, rows: int) -> None:
    everywhere = np.concatenate([split.train, split.test, split.left_out])
    assert sorted(everywhere.tolist()) == list(range(rows))


def arrival(jobs: pd.DataFrame) -> pd.Series:
    return jobs["submit_s"].fillna(jobs["start_s"])


@settings(max_examples=60, deadline=None)
@given(jobs=TRACES, cut=st.floats(5, 45))
def test_no_train_row_ends_at_or_after_the_cut_and_no_test_row_arrives_before_it(
    jobs: pd.DataFrame, cut: float
) -> None:
    try:
        split = split_by_time(jobs, cut)
    except ParameterError:
        # nothing has ended that early, or nothing arrives that late: refused, as it should be
        reject()
    assert_each_row_is_somewhere_once(split, len(jobs))
    assert (jobs["end_s"].iloc[split.train] < cut).all()
    assert (arrival(jobs).iloc[split.test] >= cut).all()
    between = jobs.iloc[split.left_out]
    assert ((arrival(between) < cut) | arrival(between).isna() | (between["end_s"] < cut)).all()


@settings(max_examples=60, deadline=None)
@given(jobs=TRACES, share=SHARES)
def test_the_cut_for_a_share_is_the_one_nearest_to_it(jobs: pd.DataFrame, share: float) -> None:
    split = split_by_time(jobs, test_share=share)
    arrived = arrival(jobs).dropna()
    most_at_once = arrived.value_counts().max()
    arriving = (arrived >= split.cut).sum()
    assert abs(arriving - share * len(arrived)) <= most_at_once / 2 + 1
    assert len(split.test) <= arriving


@settings(max_examples=40, deadline=None)
@given(jobs=TRACES, n=st.integers(1, 5))
def test_folds_move_forward_and_judge_each_row_at_most_once(jobs: pd.DataFrame, n: int) -> None:
    folds = time_folds(jobs, n)
    assert len(folds) == n
    judged = np.concatenate([fold.test for fold in folds])
    assert len(judged) == len(set(judged.tolist()))
    cuts = [fold.cut for fold in folds]
    assert cuts == sorted(cuts, key=float)
    for fold in folds:
        assert_each_row_is_somewhere_once(fold, len(jobs))
        assert (jobs["end_s"].iloc[fold.train] < fold.cut).all()
    sizes = [len(fold.train) for fold in folds]
    assert sizes == sorted(sizes)


@settings(max_examples=60, deadline=None)
@given(jobs=TRACES, share=SHARES, seed=st.integers(0, 100))
def test_no_job_is_on_both_sides_of_a_job_split(
    jobs: pd.DataFrame, share: float, seed: int
) -> None:
    split = split_by_job(jobs, share, random_state=seed)
    assert_each_row_is_somewhere_once(split, len(jobs))
    job = jobs["parent_id"].fillna(jobs["job_id"])
    assert not set(job.iloc[split.train]) & set(job.iloc[split.test])
    largest = job.value_counts().max()
    assert abs(len(split.test) - share * len(jobs)) <= largest


@settings(max_examples=60, deadline=None)
@given(jobs=TRACES, share=SHARES, seed=st.integers(0, 100))
def test_no_user_is_on_both_sides_of_a_user_split(
    jobs: pd.DataFrame, share: float, seed: int
) -> None:
    split = split_by_user(jobs, share, random_state=seed)
    assert_each_row_is_somewhere_once(split, len(jobs))
    assert not set(jobs["user"].iloc[split.train]) & set(jobs["user"].iloc[split.test])
    assert jobs["user"].iloc[split.left_out].isna().all()
    assert jobs["user"].notna().sum() == len(split.train) + len(split.test)


@settings(max_examples=40, deadline=None)
@given(rows=st.integers(2, 300), share=SHARES, seed=st.integers(0, 100))
def test_a_row_split_has_the_share_to_the_row(rows: int, share: float, seed: int) -> None:
    assume(0 < round(share * rows) < rows)
    jobs = pd.DataFrame({"job_id": range(rows)})
    split = split_by_row(jobs, share, random_state=seed)
    assert_each_row_is_somewhere_once(split, rows)
    assert len(split.test) == round(share * rows)


@pytest.mark.parametrize("name", SEEDED_SPLITS)
def test_the_same_seed_gives_the_same_rows_and_another_one_others(name: str) -> None:
    jobs = a_trace(0)
    first, again, other = (SEEDED_SPLITS[name](jobs, 0.3, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.test, again.test)
    assert first.test.tolist() != other.test.tolist()
    assert f"seed {1}" in first.rule


def test_a_job_split_does_not_depend_on_the_order_of_the_rows() -> None:
    jobs = a_trace(3)
    turned = jobs.iloc[::-1].reset_index(drop=True)
    one, two = split_by_job(jobs, random_state=5), split_by_job(turned, random_state=5)
    assert set(jobs["job_id"].iloc[one.test]) == set(turned["job_id"].iloc[two.test])


def test_rows_between_the_sides_are_counted_by_reason() -> None:
    jobs = pd.DataFrame(
        {
            "submit_s": [0.0, 1.0, 2.0, 9.0, None, 8.0],
            "end_s": [3.0, 9.9, None, 12.0, None, 2.0],
        }
    )
    split = split_by_time(jobs, cut=5.0)
    assert split.train.tolist() == [0]
    assert split.test.tolist() == [3]
    assert split.left_out.tolist() == [1, 2, 4, 5]
    assert split.notes == (
        "1 row arrived before the cut and had not ended by then.",
        "1 row arrived before the cut, with no known end.",
        "1 row ended before arriving, by the clock.",
        "1 row without a time of arrival.",
    )


def test_a_job_that_ends_exactly_at_the_cut_is_not_learned_from() -> None:
    jobs = pd.DataFrame({"submit_s": [0.0, 0.0, 5.0], "end_s": [4.0, 5.0, 6.0]})
    split = split_by_time(jobs, cut=5.0)
    assert (split.train.tolist(), split.left_out.tolist()) == ([0], [1])


def test_without_submit_times_the_start_counts_as_arrival_and_the_notes_say_so() -> None:
    jobs = pd.DataFrame({"start_s": [0.0, 5.0, 9.0], "duration_s": [1.0, 9.0, 1.0]})
    split = split_by_time(jobs, cut=7.0)
    assert (split.train.tolist(), split.test.tolist()) == ([0], [2])
    assert "start of a row counts as its arrival" in split.notes[0]


def test_where_only_the_run_time_is_known_the_earliest_end_stands_in_and_the_notes_say_so() -> None:
    jobs = pd.DataFrame({"submit_s": [0.0, 5.0, 9.0], "duration_s": [1.0, 9.0, 1.0]})
    split = split_by_time(jobs, cut=7.0)
    assert (split.train.tolist(), split.left_out.tolist()) == ([0], [1])
    assert split.notes[0].startswith("3 rows have no start and no end")


def test_single_rows_without_a_submit_time_are_counted() -> None:
    jobs = pd.DataFrame(
        {"submit_s": [0.0, None, 9.0], "start_s": [0.0, 8.0, 9.0], "end_s": [1.0, 9.0, 10.0]}
    )
    split = split_by_time(jobs, cut=7.0)
    assert split.test.tolist() == [1, 2]
    assert split.notes == ("1 row has no submit time: the start counts as arrival.",)


def test_without_a_clock_the_order_of_submission_decides_and_the_notes_say_so() -> None:
    jobs = pd.DataFrame({"submit_order": [3.0, 1.0, 2.0, 4.0]})
    split = split_by_time(jobs, test_share=0.5)
    assert (split.train.tolist(), split.test.tolist()) == ([1, 2], [0, 3])
    assert "There is no clock" in split.notes[0]
    assert "submit_order" in split.rule


def test_an_uneven_job_split_says_why_its_share_is_off() -> None:
    jobs = pd.DataFrame({"job_id": range(10), "parent_id": ["big"] * 9 + ["small"]})
    split = split_by_job(jobs, 0.4)
    assert "largest group has 90%" in split.notes[-1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda j: split_by_time(j), ParameterError, "either a cut or a test_share"),
        (lambda j: split_by_time(j, 1, test_share=0.2), ParameterError, "not both"),
        (lambda j: split_by_time(j, test_share=20), ParameterError, "test_share is 20"),
        (lambda j: split_by_time(j, float("nan")), ParameterError, "cut is nan"),
        (lambda j: split_by_time(j, -1.0), ParameterError, "train side empty"),
        (lambda j: split_by_time(j, 1e9), ParameterError, "test side empty.*arrive between 0 and"),
        (lambda j: split_by_time(j[["job_id"]], 1.0), MissingColumnError, "submit_order"),
        (lambda j: split_by_time(j[["submit_s"]], 1.0), MissingColumnError, "end_s"),
        (lambda j: split_by_time(j[:0], 1.0), InputError, "no rows"),
        (lambda j: time_folds(j, 0), ParameterError, "at least one fold"),
        (lambda j: time_folds(j, 500), ParameterError, "too few moments"),
        (lambda j: split_by_job(j, 0.0), ParameterError, "test_share is 0.0"),
        (lambda j: split_by_job(j[["user"]]), MissingColumnError, "job_id"),
        (lambda j: split_by_user(j[["job_id"]]), MissingColumnError, "column user"),
        (lambda j: split_by_user(j.assign(user="one")), InputError, "at least two groups"),
        (lambda j: split_by_row(j, 1.0), ParameterError, "test_share is 1.0"),
        (lambda j: split_by_row(j[:1], 0.2), ParameterError, "test side empty"),
    ],
)
def test_what_cannot_be_split_is_refused_with_what_to_do(
    call: object, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(a_trace(1))  # type: ignore[operator]


@pytest.mark.data
def test_the_philly_trace_splits_by_time_without_looking_ahead(shared_data: Path) -> None:
    jobs = open_trace(shared_data / "philly", source="philly", tables=["jobs"]).jobs
    split = split_by_time(jobs, test_share=0.2)
    assert 0.19 < len(split.test) / len(jobs) < 0.21
    earliest_end = jobs["submit_s"] + jobs["duration_s"]
    assert earliest_end.iloc[split.train].max() < split.cut
    assert 0 < len(split.left_out) < 0.02 * len(jobs)
