from __future__ import annotations

from pathlib import Path

import ibis
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase.errors import MissingColumnError, ParameterError
from prophase.trace.identity import job_identity
from prophase.trace.identity.job_identity import file_rule, identified
from prophase.trace.identity.rule import IdentityRule, rule_by

_text = st.one_of(st.none(), st.text("ab/-%1_ ", min_size=1, max_size=6))
_stripped = st.one_of(st.none(), st.text("ab/-%1_", max_size=6))
_connection = ibis.duckdb.connect()


@given(
    st.lists(st.tuples(_text, _text, _text, _text), min_size=1, max_size=6),
    st.sampled_from(["names", "words", "all"]),
)
def test_a_table_and_a_submission_get_the_same_answer(
    rows: list[tuple[str | None, ...]], folding: str
) -> None:
    columns = ("group", "user", "name", "attr_submit_line")
    jobs = pd.DataFrame([dict(zip(columns, row, strict=True)) for row in rows], dtype=object)
    kinds = (("name", "script"), ("name",), ("group",))
    rule = IdentityRule(("group", "user"), kinds, folding)  # type: ignore[arg-type]
    table = rule.apply(jobs)
    for place, row in enumerate(rows):
        given = {k: v for k, v in zip(columns, row, strict=True) if v is not None}
        assert (table["tenant"].iloc[place] or "", table["kind"].iloc[place]) == rule.key(given)


@given(_text, _text, _text, _text)
def test_two_tenants_are_one_only_if_all_their_columns_agree(
    a: str | None, b: str | None, c: str | None, d: str | None
) -> None:
    rule = IdentityRule(("group", "user"), (("name",),))

    def tidy(value: str | None) -> str | None:
        return (value or "").strip() or None

    one, other = rule.key({"group": a, "user": b}), rule.key({"group": c, "user": d})
    assert (one == other) == ((tidy(a), tidy(b)) == (tidy(c), tidy(d)))


@pytest.mark.parametrize("columns", [["user", "name"], ["user", "name", "request_gpus"], []])
def test_a_large_file_gets_the_identity_of_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: list[str]
) -> None:
    jobs = pd.DataFrame({"job_id": [f"j{number}" for number in range(40)]})
    jobs["user"] = ["ann", "bob", None, "o'neill"] * 10
    jobs["name"] = [f"fit-{number}" if number % 7 else None for number in range(40)]
    jobs["request_gpus"], jobs["source"] = [1.0, 2.0] * 20, "csv"
    small, large = tmp_path / "small.parquet", tmp_path / "it's large.parquet"
    for path in (small, large):
        jobs.to_parquet(path, row_group_size=11)
    rule = rule_by(columns, jobs, "account") if columns else IdentityRule()
    kept, _ = identified(small, rule)
    monkeypatch.setattr(job_identity, "_LARGE", 10)
    written, _ = identified(large, rule)
    assert file_rule(written) == file_rule(kept) == rule
    pd.testing.assert_frame_equal(
        pd.read_parquet(written).sort_values("job_id").reset_index(drop=True),
        pd.read_parquet(kept).sort_values("job_id").reset_index(drop=True),
    )
    assert identified(large)[1] == identified(small)[1]


def test_levels_go_from_narrow_to_wide_inside_the_tenant() -> None:
    rule = IdentityRule(("user",), (("name", "attr_workdir"), ("name",)))
    job = {"user": "ann", "name": "fit_3", "attr_workdir": "/home/ann/run_17"}
    assert rule.levels(job) == [("ann", "fit_#//home/ann/run_#"), ("ann", "fit_#")]


def test_a_rule_comes_back_from_json() -> None:
    rule = IdentityRule(
        ("group", "user"), (("name", "queue"), ("name",)), "all", "job group", False
    )
    assert IdentityRule.from_dict(rule.to_dict()) == rule


def test_a_rule_says_by_what_jobs_are_grouped() -> None:
    assert str(IdentityRule(("user",), (("name",),))) == "user + job name, numbers folded"
    assert str(IdentityRule((), (("task",),))) == "task"
    assert str(IdentityRule()) == "nothing: all jobs are one kind"


def test_by_takes_columns_that_the_jobs_have_and_that_are_known_at_submission() -> None:
    jobs = pd.DataFrame({"user": ["a"], "task": ["t"]})
    assert rule_by("user, task", jobs, "account").kinds == (("task",),)
    with pytest.raises(MissingColumnError, match="no column 'group'"):
        rule_by("group", jobs, "account")
    with pytest.raises(ParameterError, match="names no column"):
        rule_by(" , ", jobs, "account")
    with pytest.raises(ParameterError, match="only after"):
        rule_by("memory_peak_gib", jobs, "account")


@given(st.lists(st.tuples(_stripped, _stripped, _stripped), min_size=1, max_size=6))
def test_an_expression_gives_the_same_identity(rows: list[tuple[str | None, ...]]) -> None:
    columns = ("group", "user", "task")
    jobs = pd.DataFrame([dict(zip(columns, row, strict=True)) for row in rows], dtype=object)
    schema = dict.fromkeys(columns, "string")
    table = ibis.memtable(jobs, schema=schema)
    for rule in (
        IdentityRule(("user",), (("task",),)),
        IdentityRule(("group", "user"), (("task",),)),
        IdentityRule(("user",), (("group", "task"), ("group",), ("task",))),
    ):
        made = rule.expressed(table)
        assert made is not None
        found = _connection.to_pyarrow(table.select(**made)).to_pylist()
        expected = rule.apply(jobs)
        assert [(row["tenant"], row["kind"]) for row in found] == list(
            zip(expected["tenant"], expected["kind"], strict=True)
        )


def test_what_is_folded_or_not_there_has_no_expression() -> None:
    table = ibis.table(dict.fromkeys(("user", "name", "task"), "string"), name="jobs")
    assert IdentityRule(("user",), (("name",),)).expressed(table) is None
    assert IdentityRule(("user",), (("task",),), "words").expressed(table) is None
    assert IdentityRule(("group",), (("task",),)).expressed(table) is None
    assert IdentityRule((), (("task",),)).expressed(table) is None
