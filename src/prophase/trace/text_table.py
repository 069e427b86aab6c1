"""A table of a dump whose columns become typed expressions, and that remembers what did not parse.

Readers ask a sheet for ``number("plan_gpu")`` instead of casting: the sheet then
knows which rows held something else and can name file, line and value.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import ibis
import ibis.expr.operations as ops
import pandas as pd
import pyarrow.parquet as pq

from prophase.errors import MissingColumnError, not_among
from prophase.trace.engine import TextLayout
from prophase.trace.source_files import SourceFile

#: why a row is left out; missing means it stays
REASON = "_reason"
#: reasons that start with this are damage, not a rule
BAD = "bad row: "

MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", "-", "Unknown")


def exactly(number: float) -> ibis.Value:
    """Return a number for an expression; engines read one without quotes as a decimal, inexactly.

    Examples
    --------
    >>> cell = ibis.literal("128000").cast("float64")
    >>> float((cell * exactly(1e6 / 2**30)).execute()) == 128_000 * (1e6 / 2**30)
    True
    """
    return ibis.literal(repr(number)).cast("float64")


def _parse_instant(cell: str) -> object:
    """Read what engines read; pandas alone would also take "9th of October"."""
    if not re.match(r"\s*\d{4}[-/]\d{1,2}[-/]\d{1,2}", cell):
        raise ValueError(cell)
    return pd.Timestamp(cell)


def _below_zero(cell: str, missing: Sequence[str]) -> bool:
    return cell not in missing and cell.strip().startswith("-")


def _infinite(cell: str, missing: Sequence[str]) -> bool:
    return cell not in missing and "inf" in cell.lower()


def _absent(cell: str, missing: Sequence[str]) -> bool:
    return cell in missing


#: what the schema says of an unfit value -> how the cell behind it looks
_FLAWS = {"negative": _below_zero, "infinite": _infinite, "missing": _absent}


@dataclass(frozen=True)
class _Expectation:
    """What the cells of a column must be, compiled and as a slow twin in Python."""

    what: str
    broken: ibis.Value
    parse: Callable[[str], object]


@dataclass
class Sheet:
    """One text file as a table of strings, or Parquet files as one table with types."""

    file: SourceFile
    table: ibis.Table
    layout: TextLayout
    #: the files of a Parquet table; none if it is text
    parquet: tuple[SourceFile, ...] = ()
    _expected: dict[str, _Expectation] = field(default_factory=dict)
    _rules: list[tuple[ibis.Value, str]] = field(default_factory=list)
    #: column of ours -> columns of the file it was made from
    _made_from: dict[str, list[str]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.table.columns)

    def has(self, *names: str) -> bool:
        return all(name in self.table.columns for name in names)

    def need(self, *names: str) -> None:
        """Refuse the file unless it has these columns."""
        absent = [name for name in names if name not in self.table.columns]
        if absent:
            said = not_among(
                f"{self.file.origin}: needs the column{'s' * (len(absent) > 1)} "
                f"{', '.join(absent)}.",
                absent[0],
                self.columns,
                heading="It has",
                most=20,
            )
            raise MissingColumnError(
                f"{said} Check that this is a file of that source, with its header line."
            )

    def text(self, name: str, *, optional: bool = False) -> ibis.Value:
        """Return a column of text; missing words become missing, as does an optional column."""
        if optional and not self.has(name):
            return ibis.null("string")
        self.need(name)
        column = self.table[name]
        return column if column.type().is_string() else column.cast("string")

    def number(self, name: str, *, factor: float = 1.0, optional: bool = False) -> ibis.Value:
        """Return a column of numbers; what is neither a number nor missing makes a bad row."""
        if optional and not self.has(name):
            return ibis.null("float64")
        self.need(name)
        column = self.table[name]
        if column.type().is_floating():
            # written by pandas, a missing number is NaN
            value = column.isnan().ifelse(ibis.null("float64"), column.cast("float64"))
            return value if factor == 1.0 else value * exactly(factor)
        value = column.try_cast("float64")
        self._expect(name, "a number", value, float)
        return value if factor == 1.0 else value * exactly(factor)

    def instant(self, name: str) -> ibis.Value:
        """Return wall-clock times such as 2021-05-01 02:26:23 as seconds since 1970."""
        self.need(name)
        column = self.table[name]
        value = column.try_cast("timestamp")
        self._expect(name, "a time", value, _parse_instant)
        return value.epoch_seconds().cast("float64")

    def converted(
        self, name: str, value: ibis.Value, what: str, parse: Callable[[str], object]
    ) -> ibis.Value:
        """Return a value made from a column; a cell that is there but gives none is a bad row.

        ``parse`` is the slow twin of ``value``: it raises ValueError for such a cell.
        """
        self.need(name)
        self._expect(name, what, value, parse)
        return value

    def parsed(
        self,
        name: str,
        parse: Callable[[ibis.Value], ibis.Value],
        what: str,
        *,
        allowed: Sequence[str] = (),
    ) -> ibis.Value:
        """Return a column put through ``parse``; what gives nothing and is not allowed is bad."""
        text = self.text(name)
        value = parse(text)
        self.bad_if(value.isnull() & text.notnull() & ~text.isin(allowed), f"{name} is not {what}")
        return value

    def bad_if(self, condition: ibis.Value, what: str) -> None:
        """Count rows that meet the condition as damaged."""
        self._rules.append((condition, BAD + what))

    def drop_if(self, condition: ibis.Value, reason: str) -> None:
        """Leave rows out by a rule of the source, with its reason."""
        self._rules.append((condition, reason))

    def select(self, **columns: ibis.Value | str | float | None) -> ibis.Table:
        """Return the chosen columns, and why a row is to be left out."""
        branches = [
            (expected.broken, f"{BAD}{name} is not {expected.what}")
            for name, expected in self._expected.items()
        ]
        branches += self._rules
        reason = ibis.cases(*branches) if branches else ibis.null("string")
        for target, value in columns.items():
            if isinstance(value, ibis.Expr):
                self._made_from[target] = [node.name for node in value.op().find(ops.Field)]
        return self.table.select(**columns, **{REASON: reason.cast("string")})

    def examples(self, limit: int = 3) -> list[str]:
        """Name line and value of the first cells that did not parse (slow: reads the file)."""
        return list(islice(self._broken_cells(), limit))

    def unfit_examples(self, target: str, flaw: str, limit: int = 3) -> list[str]:
        """Name line and value of the first cells that made ``target`` negative, say (slow too)."""
        unfit = _FLAWS.get(flaw)
        if unfit is None:
            return []
        names, missing = self._made_from.get(target, []), self.layout.missing
        found = (
            f"{where}: {name} is {cell!r}, which is {flaw}."
            for where, name, cell in self._cells(names)
            if unfit(cell, missing)
        )
        return list(islice(found, limit))

    def _broken_cells(self) -> Iterator[str]:
        for where, name, cell in self._cells(self._expected):
            if cell not in self.layout.missing and not self._parses(name, cell):
                what = self._expected[name].what
                yield f"{where}: {name} is {cell!r}, which is not {what}."

    def _cells(self, names: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        """Yield place, column and text of every cell of these columns, in the file's order."""
        if self.parquet:
            yield from self._parquet_cells(list(names))
            return
        places = {name: self.columns.index(name) for name in names}
        with self.file.path.open(newline="", encoding="utf-8", errors="replace") as handle:
            rows = csv.reader(handle, delimiter=self.layout.separator)
            for row in rows:
                if rows.line_num > self.layout.skip and len(row) == len(self.columns):
                    for name, place in places.items():
                        yield f"{self.file.name} line {rows.line_num}", name, row[place]

    def _parquet_cells(self, names: list[str]) -> Iterator[tuple[str, str, str]]:
        for file in self.parquet:
            source = pq.ParquetFile(file.path)
            held = [name for name in names if name in source.schema_arrow.names]
            rows = (row for part in source.iter_batches(columns=held) for row in part.to_pylist())
            for number, row in enumerate(rows, 1):
                for name in held:
                    if row[name] is not None:
                        yield f"{file.name} row {number}", name, str(row[name])

    def _expect(
        self, name: str, what: str, value: ibis.Value, parse: Callable[[str], object]
    ) -> None:
        column = self.table[name]
        broken = value.isnull() & column.notnull()
        self._expected[name] = _Expectation(what, broken, parse)

    def _parses(self, name: str, cell: str) -> bool:
        try:
            self._expected[name].parse(cell)
        except ValueError:
            return False
        return True
