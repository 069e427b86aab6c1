"""Read a CSV as AI4DL does: one table, executions told apart by a column; say what is odd."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import FormatError, InputError, MissingColumnError, MissingFileError, not_among
from prophase.plural import counted
from prophase.trace.series.usage_series import GAP_STEPS, Floats


def read_samples(
    data_file: Path | str, features: Sequence[str], exec_id: str
) -> tuple[list[str], list[Floats], list[str]]:
    """Return names of executions in order of appearance, their samples, and notes.

    Rows stay in the order of the file, as in the original.
    """
    source = Path(data_file)
    if not source.is_file():
        raise MissingFileError(f"{source}: there is no file at this path.")
    names, notes = _header(source)
    table = pd.read_csv(source, names=names, skiprows=1, header=None)
    for name in (exec_id, *features):
        if name not in table:
            raise MissingColumnError(
                not_among(f"{source}: has no column {name!r}.", name, [str(c) for c in table])
            )
    values = table[list(features)].apply(pd.to_numeric, errors="coerce")
    bad = values.isna().any(axis=1).to_numpy() | table[exec_id].isna().to_numpy()
    if bad.any():
        line = int(np.flatnonzero(bad)[0]) + 2
        raise InputError(
            f"{source} line {line}: a feature or {exec_id} is missing or no number, in "
            f"{counted(int(bad.sum()), 'row')} in all. Correct or remove them; phase fit carries "
            "values over short holes."
        )
    codes, executions = pd.factorize(table[exec_id])
    if "timestamp" in table:
        notes += _gaps(codes, [str(one) for one in executions], table["timestamp"])
    rows = values.to_numpy(np.float64)
    series = [rows[codes == number] for number in range(len(executions))]
    return [str(one) for one in executions], series, notes


def _header(source: Path) -> tuple[list[str], list[str]]:
    """Return the names of the columns; a first field without a name is a row number."""
    with source.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        header = next(rows, [])
        widths: dict[int, tuple[int, str]] = {}
        for number, row in enumerate(rows, start=2):
            if row:
                widths.setdefault(len(row), (number, row[0]))
    if not header or not widths:
        raise FormatError(f"{source}: has no header or no rows. Give a CSV with named columns.")
    if set(widths) == {len(header)}:
        return header, []
    if set(widths) == {len(header) + 1} and widths[len(header) + 1][1].strip().isdigit():
        return ["row_number", *header], [
            f"{source.name}: rows have one field more than the header has names; the first is "
            "taken as a row number."
        ]
    width, (number, _) = next((w, at) for w, at in widths.items() if w != len(header))
    raise FormatError(
        f"{source} line {number}: has {width} fields under {len(header)} names. Correct the row "
        "or the header."
    )


def _gaps(codes: np.ndarray, executions: list[str], time: pd.Series) -> list[str]:
    """Say which executions have pauses or times that do not rise."""
    found = []
    clock = pd.to_numeric(time, errors="coerce").to_numpy(np.float64)
    for number, name in enumerate(executions):
        steps = np.diff(clock[codes == number])
        if len(steps) == 0:
            continue
        usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else np.inf
        wide = int((steps > GAP_STEPS * usual).sum())
        if wide:
            found.append(f"{name}: {counted(wide, 'pause')} of more than {GAP_STEPS:g} steps.")
        if (steps <= 0).any():
            found.append(f"{name}: {counted(int((steps <= 0).sum()), 'time')} not after the last.")
    return found
