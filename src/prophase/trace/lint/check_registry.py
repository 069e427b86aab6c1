"""How checks are declared and found, what they look at, and what they find."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase import units
from prophase.errors import InputError
from prophase.trace.lint.raw_file import RawFile
from prophase.trace.staged_tables import TableCount

Floats = NDArray[np.float64]
#: statistics that need no exact answer look at this many rows, evenly spread
SAMPLE_ROWS = 100_000
#: error: results will be wrong. warning: look before you trust. info: good to know.
Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

_EXAMPLES = 5
#: what names a row in each table
_ROW_NAMES = {"jobs": "job_id", "usage": "series_id", "nodes": "node_id", "test": "job_id"}


@dataclass(frozen=True)
class LintFinding:
    """One defect: what it is, where it is, how much of it, and what to do.

    Attributes
    ----------
    check : str
        Name of the check, as in ``docs/reference/lint-checks.md``.
    severity : {"error", "warning", "info"}
        *error* only for what makes results wrong and no sound trace can contain.
    table, column : str
        Where it was found; ``table`` is a file name for defects of files.
    rows : int
        Rows that have the defect.
    share : float
        The same as a share of the rows that could have it, 0..1.
    where : tuple of str
        A few of them: job ids, series or lines.
    explanation, advice : str
        What was seen and why it matters; what to do.
    """

    severity: Severity
    table: str
    explanation: str
    advice: str
    column: str = ""
    rows: int = 0
    share: float = 1.0
    where: tuple[str, ...] = ()
    check: str = ""

    @property
    def place(self) -> str:
        """Table and column in one word."""
        return f"{self.table}.{self.column}" if self.column else self.table


@dataclass(frozen=True)
class LintSubject:
    """Everything known about one trace."""

    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    files: Sequence[RawFile] = ()
    #: rows read, left out and mended, from the import
    counts: Mapping[str, TableCount] = field(default_factory=dict)
    #: table -> columns this source is able to fill
    fills: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: why the reader gave up, if it did
    refusal: InputError | None = None
    #: columns the user means to predict from
    inputs: Sequence[str] = ()
    #: tables of the other side of a split
    test: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    #: name of the reader; empty if none recognised the files
    source: str = ""
    clock: str = "relative"

    @property
    def jobs(self) -> pd.DataFrame:
        return self.tables["jobs"]

    @property
    def usage(self) -> pd.DataFrame:
        return self.tables["usage"]

    @property
    def nodes(self) -> pd.DataFrame:
        return self.tables["nodes"]

    def has(self, need: str) -> bool:
        """Return whether ``files``, ``test``, ``inputs``, a table or ``table.column`` is there."""
        if need in ("files", "test", "inputs", "counts", "refusal"):
            return bool(getattr(self, need))
        table, _, column = need.partition(".")
        frame = self.tables.get(table)
        return frame is not None and len(frame) > 0 and (not column or column in frame)

    def marked(
        self,
        place: str,
        rows: NDArray[np.bool_],
        severity: Severity,
        explanation: str,
        advice: str,
        *,
        frame: pd.DataFrame | None = None,
        of: int | None = None,
    ) -> Iterator[LintFinding]:
        """Yield a finding about the rows that ``rows`` marks; nothing if it marks none.

        ``place`` is ``table`` or ``table.column``, ``frame`` the rows it is about if they are not
        the whole table. ``{n}`` and ``{share}`` in the explanation become the count and its
        percentage of ``of`` (default: all rows).
        """
        table, _, column = place.partition(".")
        frame = self.tables[table] if frame is None else frame
        count = int(rows.sum())
        if not count:
            return
        share = count / (len(frame) if of is None else of)
        yield LintFinding(
            severity,
            table,
            explanation.format(n=f"{count:,}", share=units.percent(share)),
            advice,
            column=column,
            rows=count,
            share=share,
            where=examples(table, frame, rows),
        )


def numbers(frame: pd.DataFrame, column: str) -> Floats:
    """Return a column as floats; what is absent, missing, infinite or no number is NaN."""
    if column not in frame:
        return np.full(len(frame), np.nan)
    values = frame[column]
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_complex_dtype(values):
        values = pd.to_numeric(values.astype("object"), errors="coerce")
    floats = values.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    floats[~np.isfinite(floats)] = np.nan
    return floats


def numeric_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that hold numbers, truth values left out."""
    return [
        str(name)
        for name, kind in frame.dtypes.items()
        if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)
    ]


def sampled(frame: pd.DataFrame, limit: int = SAMPLE_ROWS) -> pd.DataFrame:
    """Return the frame itself, or rows evenly spread over it if it is long."""
    step = -(-len(frame) // limit)
    return frame if step <= 1 else frame.iloc[::step]


def examples(table: str, frame: pd.DataFrame, marked: np.ndarray) -> tuple[str, ...]:
    """Name the first rows that are marked, each once."""
    places = np.flatnonzero(marked)[: 20 * _EXAMPLES]
    name = _ROW_NAMES.get(table, "")
    if name not in frame:
        return tuple(f"row {place}" for place in places[:_EXAMPLES])
    # by rows: a column of a large table is much to read for five names
    chosen = np.zeros(len(frame), np.bool_)
    chosen[places] = True
    named = frame.loc[chosen, [name]][name]
    return tuple(dict.fromkeys(str(value) for value in named))[:_EXAMPLES]


# How checks are declared and found.
#
# A check is a function that takes a subject and yields findings. ``@check`` gives
# it a name and says what it needs; it then runs wherever those needs are met.


CheckFunction = Callable[[LintSubject], Iterator[LintFinding]]


@dataclass(frozen=True)
class Check:
    """One kind of defect and the function that looks for it."""

    name: str
    #: what it finds, in one line
    title: str
    #: what must be there: "files", "inputs", "test", "jobs", "jobs.duration_s" ...
    needs: Sequence[str]
    look: CheckFunction

    def applies(self, subject: LintSubject) -> bool:
        return all(subject.has(need) for need in self.needs)

    def run(self, subject: LintSubject) -> list[LintFinding]:
        return [replace(finding, check=self.name) for finding in self.look(subject)]


_CHECKS: dict[str, Check] = {}


def check(name: str, *needs: str) -> Callable[[CheckFunction], CheckFunction]:
    """Declare a check; the first line of its docstring is its title."""

    def declare(look: CheckFunction) -> CheckFunction:
        title = (look.__doc__ or "").strip().splitlines()[0]
        _CHECKS[name] = Check(name, title, needs, look)
        return look

    return declare


@cache
def all_checks() -> dict[str, Check]:
    """Return every check by name.

    Examples
    --------
    >>> all_checks()["zero-duration"].title
    'Jobs that ran for no time at all.'
    """
    from prophase.trace.lint import checks as folder

    for module in pkgutil.iter_modules(folder.__path__, folder.__name__ + "."):
        import_module(module.name)
    return dict(sorted(_CHECKS.items()))
