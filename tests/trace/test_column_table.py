"""Large tables stay in their files: the same answers as from memory, and never read whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.sizing.kind_recommendation import recommend
from prophase.trace import Workspace, column_table
from prophase.trace.column_table import ColumnTable
from prophase.trace.describe.description import describe
from prophase.trace.lint.checks import repeated_rows
from prophase.trace.lint.linter import lint
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import open_trace


@pytest.fixture(scope="module")
def flawed(tmp_path_factory) -> Path:
    """Return a workspace of jobs that were written twice, or under one id, or joined wrongly."""
    made = make_pai(jobs=1_500, days=3.0, random_state=1)
    jobs = made.jobs
    again = jobs.iloc[50:80].assign(job_id=lambda t: t["job_id"] + "-copy")
    numbered = jobs.iloc[100:120].assign(
        job_id=lambda t: t["job_id"] + "#2", submit_s=lambda t: t["submit_s"] + 1
    )
    # in six groups four units meet four measurements in all ways
    crossed = pd.concat(
        [
            jobs.iloc[[200 + group]].assign(
                job_id=f"x{group}-{unit}#{use + 1}", parent_id=f"x{group}", task=f"t{unit}",
                memory_mean_gib=1.0 + use + group / 10,
            )
            for group in range(6) for unit in range(4) for use in range(4)
        ]
    )  # fmt: skip
    jobs = pd.concat([jobs, again, numbered, crossed], ignore_index=True)
    jobs.attrs = made.jobs.attrs
    home = tmp_path_factory.mktemp("flawed") / "ws"
    tables = {**made.tables, "jobs": jobs}
    Workspace.create(home).store_frames(tables, source="synth", source_hash="1")
    return home


@pytest.fixture
def in_file(monkeypatch) -> None:
    monkeypatch.setattr(column_table, "LARGE", 100)
    monkeypatch.setattr(repeated_rows, "_TOGETHER", 500)


def test_lint_finds_the_same_in_a_table_that_stays_in_its_file(flawed, monkeypatch, in_file):
    found = lint(flawed).to_dict()
    assert isinstance(open_trace(flawed, by_column=True).tables["jobs"], ColumnTable)
    monkeypatch.setattr(column_table, "LARGE", 10**9)
    assert found == lint(flawed).to_dict()
    names = {finding["check"] for finding in found["findings"]}
    assert {"repeated-id", "duplicate-jobs", "fan-out-join"} <= names


def test_describe_says_the_same_and_reads_no_table_whole(flawed, in_file):
    lazy = open_trace(flawed, by_column=True)
    found = describe(lazy, laws=False)
    assert found.to_dict() == describe(open_trace(flawed), laws=False).to_dict()
    assert lazy.tables["jobs"].read_whole == 0


def test_a_column_table_answers_as_a_frame_does(tmp_path):
    frame = pd.DataFrame({"a": [1.0, np.nan, 1.0, np.nan, 3.0], "b": ["x", None, "x", "y", "x#2"]})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=2)
    table = ColumnTable(tmp_path / "t.parquet", list(frame))
    assert len(table) == 5
    assert "a" in table
    assert "c" not in table
    assert table["a"].equals(frame["a"])
    assert table.get("c") is None
    assert list(table.dtypes) == list(frame.dtypes)
    marked = np.array([True, False, True, True, False])
    assert table[marked]["b"].tolist() == frame[marked]["b"].tolist()
    assert table[marked][np.array([False, True, True])]["a"].tolist()[0] == 1.0
    pd.testing.assert_frame_equal(table.iloc[::2], frame.iloc[::2])
    pd.testing.assert_frame_equal(table.iloc[[4, 0]], frame.iloc[[4, 0]])
    pd.testing.assert_frame_equal(table.loc[marked, ["b"]], frame.loc[marked, ["b"]])
    assert table.loc[marked, "a"].tolist()[:2] == [1.0, 1.0]
    for keep in ("first", False):
        assert table.duplicated(["a"], keep=keep).equals(frame.duplicated(["a"], keep=keep))
    assert table.duplicated_text("b", r"#\d+$").tolist() == [False, False, True, False, True]
    assert table.read_whole == 0
    assert table.sum(numeric_only=True)["a"] == 5.0
    assert table.read_whole == 1
    with pytest.raises(KeyError):
        table["c"]


def test_small_tables_are_read_at_once(flawed):
    assert isinstance(open_trace(flawed, by_column=True).tables["jobs"], pd.DataFrame)


def test_a_column_table_counts_as_a_frame_does(tmp_path):
    words = ["x", None, "y", "x", "z"]
    frame = pd.DataFrame({"a": [1.0, np.nan, 1.0, np.nan, 3.0], "b": words, "c": [2.0] * 5})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=2)
    table = ColumnTable(tmp_path / "t.parquet", list(frame))
    marked = np.array([True, False, True, True, False])
    for name in frame:
        for lazy, held in ((table, frame), (table[marked], frame[marked])):
            assert lazy.missing(name) == held[name].isna().sum()
            assert lazy.distinct(name) == held[name].nunique()
            assert lazy[name].value_counts().to_dict() == held[name].value_counts().to_dict()
    assert (table.extents["c"].least, table.extents["c"].greatest) == (2.0, 2.0)
    assert list(table[marked]["b"].cat.categories) == ["x", "y"]
    # once per text, each without one
    assert table.sorted_once("c", "b").tolist() == [2.0] * 4


def test_sizes_are_the_same_in_a_table_that_stays_in_its_file(flawed, in_file):
    lazy, whole = (open_trace(flawed, by_column=at_once).jobs for at_once in (True, False))
    assert isinstance(lazy, ColumnTable)
    found = recommend(lazy)
    assert found.to_dict() == recommend(whole).to_dict()
    assert lazy.read_whole == 0
    assert len(found.tasks) > 10


def test_a_number_per_text_is_made_once_for_equal_ones_of_a_part(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(column_table, "_BATCH", 4)
    texts = ["a", "bb", None, "a", "ccc", "", "a", None, "bb"]
    pd.DataFrame({"parent_id": texts}).to_parquet(tmp_path / "t.parquet")
    asked: list[str] = []

    def length(text: str) -> float:
        asked.append(text)
        return float(len(text)) if text else np.nan

    table = ColumnTable(tmp_path / "t.parquet", ["parent_id"])
    found = table.number_per_text("parent_id", length)
    np.testing.assert_array_equal(found, [1, 2, np.nan, 1, 3, np.nan, 1, np.nan, 2])
    assert asked == ["a", "bb", "ccc", "", "a", "bb"]
