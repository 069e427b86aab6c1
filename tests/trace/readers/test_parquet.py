"""Parquet files are read like text tables: by a mapping, or with our own column names."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import ProphaseError
from prophase.trace import Workspace, import_trace, open_trace
from prophase.trace.mapping.mapping_proposal import guess_mapping


def test_a_table_with_our_names_is_read(tmp_path: Path) -> None:
    jobs = pd.DataFrame({"job_id": ["a", "b"], "duration_s": [1.5, None], "submit_s": [0, 10]})
    jobs.to_parquet(tmp_path / "jobs.parquet")
    read = open_trace(tmp_path / "jobs.parquet").jobs
    assert list(read["submit_s"]) == [0, 10]
    assert read["duration_s"].iloc[0] == 1.5
    assert pd.isna(read["duration_s"].iloc[1])


def test_columns_in_other_words_are_guessed_and_times_are_understood(tmp_path: Path) -> None:
    file = tmp_path / "export.parquet"
    times = pd.to_datetime(["2026-03-01 10:00:00", "2026-03-01 11:00:00"])
    pd.DataFrame({"id": [1, 2], "queued_at": times, "mem_mb": [512, 1024]}).to_parquet(file)
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(guess_mapping(file))
    workspace = Workspace.create(tmp_path / "workspace")
    import_trace("csv", file, workspace, options={"map": str(mapping)})
    jobs = pd.read_parquet(workspace.path_of("jobs"))
    assert list(jobs["submit_s"].diff().dropna()) == [3600]
    assert list(jobs["job_id"]) == ["1", "2"]
    assert "request_memory_gib" in jobs


def test_a_cell_that_is_no_number_is_named_by_its_row(tmp_path: Path) -> None:
    file = tmp_path / "jobs.parquet"
    pd.DataFrame({"job_id": ["a", "b"], "duration_s": ["5", "soon"]}).to_parquet(file)
    with pytest.raises(ProphaseError, match=r"jobs\.parquet row 2: duration_s is 'soon'"):
        open_trace(file, source="csv")
