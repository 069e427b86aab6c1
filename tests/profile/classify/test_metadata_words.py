from __future__ import annotations

import pandas as pd
import pytest

from prophase.errors import MissingColumnError, ParameterError
from prophase.profile.classify.metadata_words import choose_columns, words_of

JOBS = pd.DataFrame(
    {
        "user": ["ann", None],
        "workload": ["bert", "ctr"],
        "group": [None, None],
        "parent_id": ["j1", "j2"],
        "request_gpus": [1.0, 0.5],
        "submit_s": [0.0, 1.0],
        "duration_s": [5.0, 6.0],
    }
)


def test_the_paper_takes_its_five_columns_as_far_as_they_have_values() -> None:
    columns, notes = choose_columns(JOBS)
    assert columns == ("user", "workload", "parent_id")
    assert "parent_id stands for" in notes[0]
    named = JOBS.assign(name="train")
    assert choose_columns(named) == (("user", "workload", "name"), ())


def test_all_takes_every_submit_time_column_but_no_clock_and_no_outcome() -> None:
    assert choose_columns(JOBS, "all")[0] == ("user", "workload", "request_gpus")


def test_the_label_is_never_metadata_of_its_own() -> None:
    assert "workload" not in choose_columns(JOBS, label="workload")[0]
    with pytest.raises(ParameterError, match="workload is the label"):
        choose_columns(JOBS, "user,workload", label="workload")


def test_what_is_known_only_afterwards_or_not_at_all_is_refused() -> None:
    with pytest.raises(ParameterError, match="duration_s is not known when a job is submitted"):
        choose_columns(JOBS, ["user", "duration_s"])
    with pytest.raises(MissingColumnError, match=r"no column 'usr'. Did you mean 'user'"):
        choose_columns(JOBS, "usr")
    with pytest.raises(ParameterError, match="no metadata column is named"):
        choose_columns(JOBS, ",")


def test_a_table_without_metadata_says_which_columns_it_could_have() -> None:
    with pytest.raises(MissingColumnError, match="user, group, workload, task, name"):
        choose_columns(JOBS[["duration_s"]])


def test_numbers_and_gaps_become_words_and_none() -> None:
    words = words_of(JOBS, ["user", "request_gpus", "task"])
    assert words.values.tolist() == [["ann", "1", None], [None, "0.5", None]]
    mixed = pd.DataFrame({"attr_a": [4, 4.0, "4", None, float("nan"), pd.NA]}, dtype=object)
    assert words_of(mixed, ["attr_a"]).values[:, 0].tolist() == ["4", "4", "4", None, None, None]
