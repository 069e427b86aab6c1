"""Columns that say nothing: constant, empty, or mostly a placeholder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.trace.column_table import in_file, missing_in
from prophase.trace.lint.check_registry import (
    LintFinding,
    LintSubject,
    check,
    numbers,
    numeric_columns,
)
from prophase.trace.schema import SCHEMAS

#: numbers that programs write for "unknown" or "no limit"
_PLACEHOLDERS = {
    -1.0: "-1",
    -999.0: "-999",
    -9999.0: "-9999",
    float(2**31 - 1): "2147483647 (largest 32-bit number)",
    float(2**32 - 1): "4294967295 (largest unsigned 32-bit number)",
    float(2**32 - 2): "4294967294",
    float(2**63 - 1): "9.2e18 (largest 64-bit number)",
    float(2**63): "9.2e18 (2 to the 63rd)",
    float(2**64 - 1): "1.8e19 (largest unsigned 64-bit number)",
}
#: nothing runs on no memory: 0 here means unknown
_NEVER_ZERO = (
    "memory_mean_gib",
    "memory_peak_gib",
    "request_memory_gib",
    "request_cpu_cores",
    "time_limit_s",
)
_FEW_ROWS = 30
_BEYOND = 1e15
#: missing has a meaning of its own: any type, no label, always
_MAY_BE_MISSING = ("gpu_type", "features", "available_from_s", "available_until_s")
#: constant by nature, or derived
_MAY_BE_CONSTANT = ("source", "instances", "gang_size", "wait_s", "priority")


@check("constant-column")
def constant_column(subject: LintSubject) -> Iterator[LintFinding]:
    """Columns with the same value in every row."""
    for table, frame in _main_tables(subject):
        looked = [str(name) for name in frame.columns if name not in _MAY_BE_CONSTANT]
        constant = {
            name: value for name in looked if (value := _only_value(frame, name)) is not None
        }
        suspicious = [name for name, value in constant.items() if _should_vary(table, name, value)]
        for name in suspicious:
            known = len(frame) - missing_in(frame, name)
            yield LintFinding(
                "warning",
                table,
                f"Every known value is {constant[name]:g}. "
                + (
                    "All jobs arrive together: no order, no rate and no split by time is left."
                    if name == "submit_s"
                    else "A measured quantity is never the same in all rows: it was not measured, "
                    "was filled in, or was cut to a limit."
                ),
                "Treat it as unknown.",
                column=name,
                rows=known,
                share=known / len(frame),
            )
        dull = [name for name in constant if name not in suspicious]
        if dull:
            listed = ", ".join(f"{name} = {str(constant[name])[:20]}" for name in dull[:12])
            yield LintFinding(
                "info",
                table,
                f"{len(dull)} of {len(frame.columns)} columns have one value only: {listed}"
                f"{' ...' if len(dull) > 12 else ''}. They do not distinguish rows.",
                "Leave them out of a model's inputs.",
                column=", ".join(dull[:3]) + (" ..." if len(dull) > 3 else ""),
                rows=len(frame),
            )


def _should_vary(table: str, name: str, value: object) -> bool:
    """Return whether a column is measured, so that one value for all rows is suspicious."""
    column = SCHEMAS[table].get(name)
    if table == "nodes" or column is None or column.kind != "number":
        return False
    return name == "submit_s" or (column.known == "after" and value != 0)


@check("empty-column")
def empty_column(subject: LintSubject) -> Iterator[LintFinding]:
    """Columns without a single value."""
    for table, frame in _main_tables(subject):
        present = [
            str(name)
            for name in frame.columns
            if name not in _MAY_BE_MISSING and missing_in(frame, str(name)) == len(frame)
        ]
        fillable = [name for name in subject.fills.get(table, ()) if name not in frame]
        if set(SCHEMAS[table].names) <= set(subject.fills.get(table, ())) | {"source"}:
            fillable = []  # a source of any columns promises none
        if present:
            yield LintFinding(
                "warning",
                table,
                f"{len(present)} columns hold no value at all: {', '.join(present[:20])}. The "
                "export or the join that should fill them found nothing.",
                "Check the key of the join and the names of the columns; drop what is truly "
                "unknown.",
                column=", ".join(present[:8]) + (" ..." if len(present) > 8 else ""),
                rows=len(frame),
            )
        if fillable:
            yield LintFinding(
                "info",
                table,
                f"This source can fill {len(fillable)} more columns, but these files do not: "
                f"{', '.join(fillable[:20])}{' ...' if len(fillable) > 20 else ''}.",
                "Export those columns too if you need them.",
                share=len(fillable) / len(subject.fills[table]),
                where=tuple(fillable[:8]),
            )


@check("placeholder-value")
def placeholder_value(subject: LintSubject) -> Iterator[LintFinding]:
    """Columns that are mostly one number that means unknown."""
    for table, frame in _main_tables(subject):
        for name in numeric_columns(frame):
            values = numbers(frame, name)
            known = int(np.sum(~np.isnan(values)))
            if known < 5 or name in ("time_s", "priority"):
                continue
            for rows, spelled in _placeholders(name, values, known):
                yield from subject.marked(
                    f"{table}.{name}",
                    rows,
                    "warning",
                    f"{{n}} of {known:,} values ({{share}}) are {spelled}, which programs write "
                    "for 'unknown' or 'no limit'. As a number it bends every mean and every model.",
                    "Make them missing: unknown is missing, never a number.",
                    of=known,
                )


def _placeholders(
    name: str, values: np.ndarray, known: int
) -> Iterator[tuple[NDArray[np.bool_], str]]:
    """Yield the rows of each placeholder that is too frequent for a value, and its spelling."""
    for value, spelled in _PLACEHOLDERS.items():
        same = values == value
        # huge placeholders are wrong even once; -1 may be a real value of a free column
        needed = 1 if abs(value) > 1e9 else max(3, 0.05 * known)
        if needed <= same.sum() < known:
            yield same, spelled
    zero = values == 0
    if name in _NEVER_ZERO and zero.sum() >= max(3, 0.2 * known):
        yield zero, "0"
    vast = (np.abs(values) > _BEYOND) & ~np.isin(values, list(_PLACEHOLDERS))
    if vast.any() and not name.endswith("bytes") and vast.sum() <= 0.5 * known:
        yield vast, f"{values[vast][0]:.3g}"


def _only_value(frame: pd.DataFrame, name: str) -> Any:
    """Return the value that every row has that has any; None if there are several, or few rows."""
    if (large := in_file(frame)) is not None:
        extent = large.extents[name]
        few = len(frame) - extent.missing < _FEW_ROWS
        return None if few or extent.least != extent.greatest else extent.least
    known = frame[name].dropna()
    same = len(known) >= _FEW_ROWS and bool((known == known.iloc[0]).all())
    return known.iloc[0] if same else None


def _main_tables(subject: LintSubject) -> Iterator[tuple[str, pd.DataFrame]]:
    for table in SCHEMAS:
        if subject.has(table):
            yield table, subject.tables[table]
