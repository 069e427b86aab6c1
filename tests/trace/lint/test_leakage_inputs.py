"""Inputs known too late, and two sides of a split given apart."""

from __future__ import annotations

import pytest

from prophase.errors import ParameterError
from prophase.trace.lint.linter import lint_tables


def test_an_input_known_only_afterwards_is_an_error(sound):
    report = lint_tables(sound, inputs=["user", "duration_s", "after_node", "memory_peak_gib"])
    errors = {f.column for f in report.findings if f.check == "after-the-fact-input"}
    assert errors == {"duration_s", "after_node", "memory_peak_gib"}
    assert not report.sound


def test_a_name_of_the_row_as_input_is_a_warning(sound):
    found = lint_tables(sound, inputs=["parent_id", "request_gpus"]).findings
    assert [(f.column, f.severity) for f in found if f.check == "after-the-fact-input"] == [
        ("parent_id", "warning")
    ]


def test_inputs_known_at_submit_time_are_fine(sound):
    found = lint_tables(sound, inputs=["user", "group", "attr_batch_size"]).findings
    assert not [f for f in found if f.severity != "info"]


def test_an_input_that_does_not_exist_is_refused_with_a_hint(sound):
    with pytest.raises(ParameterError, match=r"'usr'.*Did you mean 'user'"):
        lint_tables(sound, inputs=["usr"])


def test_two_sides_of_a_clean_time_split_share_nothing(make_jobs):
    train = make_jobs(seed=1)
    test = make_jobs(seed=2, start_s=float(train["end_s"].max()) + 10)
    found = lint_tables({"jobs": train}, test={"jobs": test}).findings
    assert not [f for f in found if f.severity != "info"]


def test_a_job_on_both_sides_is_an_error_even_under_a_new_id(make_jobs):
    train = make_jobs(seed=1)
    test = make_jobs(seed=2, start_s=float(train["end_s"].max()) + 10)
    test.iloc[:7] = train.iloc[:7]
    test.loc[test.index[:7], "job_id"] = [f"renamed-{i}" for i in range(7)]
    found = {f.place: f for f in lint_tables({"jobs": train}, test={"jobs": test}).findings}
    assert found["test.job_id"].severity == "error"
    assert found["test.job_id"].rows == 7
    assert found["test.job_id"].where[0] == "renamed-0"


def test_row_numbers_that_both_sides_count_from_one_are_not_the_same_job(make_jobs):
    train = make_jobs(seed=1).drop(columns="parent_id")
    test = make_jobs(seed=2, start_s=float(train["end_s"].max()) + 10).drop(columns="parent_id")
    train["job_id"] = test["job_id"] = [f"row-{i}" for i in range(len(train))]
    found = lint_tables({"jobs": train}, test={"jobs": test}).findings
    assert "split-shares-jobs" not in {f.check for f in found}


def test_training_jobs_that_end_after_the_test_begins_are_a_warning(make_jobs):
    train, test = make_jobs(seed=1), make_jobs(seed=2)
    found = {
        f.check: f.severity for f in lint_tables({"jobs": train}, test={"jobs": test}).findings
    }
    assert found["split-shares-time"] == "warning"


def test_an_attribute_that_is_a_second_clock_is_a_remark(sound):
    jobs = sound["jobs"]
    told = {**sound, "jobs": jobs.assign(attr_ms=jobs["submit_s"] * 1e3)}
    found = [f for f in lint_tables(told).findings if f.check == "clock-as-attribute"]
    assert [(f.column, f.severity, f.rows) for f in found] == [("attr_ms", "info", len(jobs))]
