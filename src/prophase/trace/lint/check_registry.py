"""How checks are declared and found, and what they look at: tables, raw files, declarations."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError
from prophase.trace.lint.lint_report import LintFinding
from prophase.trace.lint.raw_file import RawFile
from prophase.trace.staged_tables import TableCount

Floats = NDArray[np.float64]
#: statistics that need no exact answer look at this many rows, evenly spread
SAMPLE_ROWS = 100_000


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
        for name in frame.columns
        if pd.api.types.is_numeric_dtype(frame[name])
        and not pd.api.types.is_bool_dtype(frame[name])
    ]


def sampled(frame: pd.DataFrame, limit: int = SAMPLE_ROWS) -> pd.DataFrame:
    """Return the frame itself, or rows evenly spread over it if it is long."""
    step = -(-len(frame) // limit)
    return frame if step <= 1 else frame.iloc[::step]


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
