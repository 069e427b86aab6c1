from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.profile.submission.job_table import is_job_table, read_job_table


def table(tmp_path: Path, text: str) -> Path:
    (tmp_path / "new.csv").write_text(text, encoding="utf-8")
    return tmp_path / "new.csv"


def test_units_text_attributes_and_outcomes_are_read(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        "id,user,memory,walltime,attr_batch,attr_tag,duration_s\n"
        "a,007,16Gi,2h,64,x,5\nb,,8,90,32,y,\n",
    )
    found = read_job_table(path)
    expected = pd.DataFrame(
        {
            "job_id": ["a", "b"],
            "user": ["007", None],
            "request_memory_gib": [16.0, 8.0],
            "time_limit_s": [7200.0, 90.0],
            "attr_batch": [64, 32],
            "attr_tag": ["x", "y"],
            "duration_s": [5.0, None],
        }
    )
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("user,gpus\nann,two\n", "line 2: request_gpus: 'two' is not a quantity"),
        ("user,duration_s\nann,5\nbob,-5\n", "line 3: duration_s is -5.0"),
        ("gpu,gpus\n1,2\n", "two columns mean request_gpus"),
        ('user,gpus\n"ann,1\n', "cannot be read as CSV"),
    ],
)
def test_bad_cells_are_named_by_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_job_table(table(tmp_path, text))


def test_only_files_in_our_columns_are_job_tables(tmp_path: Path) -> None:
    assert is_job_table(table(tmp_path, "user,gpus\n"))
    assert not is_job_table(table(tmp_path, "user,colour\n"))
    assert not is_job_table(table(tmp_path, ""))
    assert not is_job_table(tmp_path)
    assert read_job_table(table(tmp_path, "user,gpus\n")).empty
