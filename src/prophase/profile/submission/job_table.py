"""A CSV file of many jobs whose columns are those of the job table, or everyday names."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import FormatError, storage_error
from prophase.profile.submission.submission import ALIASES, number_for
from prophase.trace.schema import JOBS, Column


def is_job_table(path: Path) -> bool:
    """Say whether the first line of a CSV file names columns of the job table, and only such.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "new.csv"
    >>> _ = path.write_text("job_id,user,gpus\\na,ann,2\\n")
    >>> is_job_table(path)
    True
    """
    names = _names(path)
    return bool(names) and not any(map(_is_strange, names))


def strange_columns(path: Path) -> list[str]:
    """Return what keeps a CSV file from being a job table: columns beside those of one.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "new.csv"
    >>> _ = path.write_text("job_id,user,colour\\na,ann,red\\n")
    >>> strange_columns(path)
    ['colour']
    """
    names = _names(path)
    strange = [name for name in names if _is_strange(name)]
    return strange if len(strange) < len(names) else []


def _names(path: Path) -> list[str]:
    """Return the columns of a CSV file; none of any other file."""
    if not path.is_file() or not path.name.lower().endswith((".csv", ".csv.gz")):
        return []
    try:
        with (gzip.open if path.suffix == ".gz" else open)(
            path, "rt", encoding="utf-8-sig"
        ) as file:
            return next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def _is_strange(name: str) -> bool:
    return JOBS.get(_column(name)) is None


def read_job_table(path: Path) -> pd.DataFrame:
    """Return the jobs of a CSV file; amounts may have units, empty cells are unknown.

    Rows without a ``job_id`` are numbered.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "new.csv"
    >>> _ = path.write_text("user,memory\\nann,16Gi\\nbob,\\n")
    >>> read_job_table(path)
      job_id user  request_memory_gib
    0      1  ann                16.0
    1      2  bob                 NaN
    """
    try:
        raw = pd.read_csv(path, dtype=str, encoding="utf-8-sig", skipinitialspace=True)
    except OSError as cause:
        raise storage_error(cause, path) from cause
    except (ValueError, pd.errors.ParserError) as cause:
        raise FormatError(f"{path}: cannot be read as CSV ({cause}). Correct it there.") from cause
    columns = [_column(str(name)) for name in raw]
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise FormatError(f"{path}: two columns mean {twice}. Keep one of them.")
    jobs = {}
    for name, (_, cells) in zip(columns, raw.items(), strict=True):
        known = JOBS.get(name)
        assert known is not None
        jobs[name] = cells if known.kind == "text" else _numbers(cells, known, path)
    table = pd.DataFrame(jobs, index=raw.index)
    if "job_id" not in table:
        table.insert(0, "job_id", [str(row) for row in range(1, len(table) + 1)])
    return table


def _column(name: str) -> str:
    bare = name.strip()
    return ALIASES.get(bare.lower(), bare)


def _numbers(cells: pd.Series, column: Column, path: Path) -> pd.Series:
    """Return a column as numbers; a free column that is none stays text."""
    plain = pd.to_numeric(cells, errors="coerce")
    rest = cells[plain.isna() & cells.notna()]
    if column.kind == "any":
        return plain if rest.empty else cells
    # each way of writing an amount is read once
    read = {}
    for row, text in rest.drop_duplicates().items():
        # the first line of the file holds the names
        read[text] = number_for(column, text, f"{path} line {int(str(row)) + 2}: {column.name}")
    values = plain.where(rest.map(read).reindex(cells.index).isna(), cells.map(read))
    found = values.astype(np.float64)
    if column.low is not None and (found < column.low).any():
        row = int(np.flatnonzero(found < column.low)[0])
        number_for(column, float(found.iloc[row]), f"{path} line {row + 2}: {column.name}")
    return found
