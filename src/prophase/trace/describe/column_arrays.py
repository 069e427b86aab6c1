"""What the parts of a description share: reading columns, saying why one is absent, JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.trace.column_table import missing_in

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class NotComputable:
    """A part that the trace cannot give, and why."""

    reason: str

    def to_dict(self) -> dict[str, str]:
        """Return the reason as JSON tells it."""
        return {"not_computable": self.reason}


def has_values(table: pd.DataFrame, *columns: str) -> bool:
    """Return whether every one of these columns is there and holds at least one value."""
    return all(column in table and missing_in(table, column) < len(table) for column in columns)


def numbers(table: pd.DataFrame, column: str) -> Floats:
    """Return a column as floats, NaN where it is missing or not finite, or not there at all."""
    if column not in table:
        return np.full(len(table), np.nan)
    values: Floats = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
    broken = np.isinf(values)
    return np.where(broken, np.nan, values) if broken.any() else values


def combined_codes(columns: Iterable[pd.Series]) -> Ints:
    """Return one number per distinct combination of values, in order of appearance.

    A missing value is a value too.

    Examples
    --------
    >>> combined_codes([pd.Series(["a", "a", None]), pd.Series([1, 2, 1])]).tolist()
    [0, 1, 2]
    """
    code = np.zeros(0, np.int64)
    for place, column in enumerate(columns):
        part = pd.factorize(column, use_na_sentinel=False)[0]
        # numbered anew each time, so that the next one does not overflow
        code = pd.factorize(code * (int(part.max(initial=0)) + 1) + part)[0] if place else part
    return code


def codes_of(values: pd.Series) -> tuple[Ints, list[str]]:
    """Return a number per row (-1 where missing) and the text each number stands for."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        # of a table in its file: numbered as they appear, in few bytes
        return values.cat.codes.to_numpy(), [str(name) for name in values.cat.categories]
    codes, names = pd.factorize(values)
    return codes.astype(np.int64), [str(name) for name in names]
