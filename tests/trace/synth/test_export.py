from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import StorageError
from prophase.trace.synth.generator import tables_to_store, write_csv
from prophase.trace.synth.pai import make_pai


def test_tables_come_back_from_csv_as_they_were(tmp_path: Path) -> None:
    trace = make_pai(jobs=100)
    paths = write_csv(tables_to_store(trace), tmp_path / "new")
    assert [path.name for path in paths] == ["jobs.csv", "nodes.csv", "truth_profiles.csv"]
    back = pd.read_csv(paths[0])
    pd.testing.assert_frame_equal(back, trace.jobs, check_dtype=False)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    with pytest.raises(StorageError, match="file"):
        write_csv({"jobs": make_pai(jobs=20).jobs}, tmp_path / "file")
