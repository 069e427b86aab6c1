"""Shapes of text files."""

from __future__ import annotations

import gzip
from pathlib import Path

from prophase.trace.lint.raw_file import RawFile, scan_raw_files


def looked(tmp_path: Path, text: str, name: str = "t.csv") -> RawFile:
    path = tmp_path / name
    path.write_text(text)
    (file,) = scan_raw_files(path, (), tmp_path / "scratch")
    return file


def test_separator_header_and_widths_are_recognised_by_the_text(tmp_path):
    for separator in ",;|\t":
        file = looked(tmp_path, "id,value\na,1\nb,2\n".replace(",", separator))
        assert (file.separator, file.header) == (separator, ("id", "value"))
        assert (file.widths, file.rows, file.ends_with_newline) == ({2: 2}, 2, True)


def test_a_first_line_with_numbers_is_data(tmp_path):
    file = looked(tmp_path, "a,1\nb,2\nc,3\n")
    assert (file.header, file.rows) == ((), 3)


def test_comments_of_a_workload_file_are_not_rows(tmp_path):
    file = looked(tmp_path, "; Version: 2\n  1 0 5\n  2 3 7\n", "log.swf")
    assert file.widths == {3: 2}


def test_a_stray_quote_does_not_swallow_the_file(tmp_path):
    rows = "".join(f"{i},x\n" for i in range(500))
    file = looked(tmp_path, 'id,name\n7,5" disk\n' + rows)
    assert file.widths[2] > 400


def test_only_tables_that_fit_the_reader_are_looked_at(tmp_path):
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / "jobs.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    (dump / "other.csv").write_text("a,b\n1,2\n")
    (dump / "README.md").write_text("a,b\n")
    (dump / "log.txt").write_text('[{"a": 1}]\n')
    assert [f.name for f in scan_raw_files(dump, ("jobs*.csv",), tmp_path / "s1")] == ["jobs.csv"]
    assert [f.name for f in scan_raw_files(dump, (), tmp_path / "s2")] == ["jobs.csv", "other.csv"]


def test_long_files_are_checked_at_the_start_and_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("prophase.trace.lint.raw_file.LINES_LOOKED_AT", 100)
    file = looked(tmp_path, "a,b\n" + "1,2\n" * 500 + "1")
    assert not file.whole
    assert (file.rows, file.last_width, file.ends_with_newline) == (99, 1, False)
