"""What the parts of a description share: reading columns, saying why one is absent, JSON."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class NotComputable:
    """A part that the trace cannot give, and why."""

    reason: str

    def to_dict(self) -> dict[str, str]:
        """Return the reason as JSON tells it."""
        return {"not_computable": self.reason}


def has_values(table: pd.DataFrame, *columns: str) -> bool:
    """Return whether every one of these columns is there and holds at least one value."""
    return all(column in table and bool(table[column].notna().any()) for column in columns)


def numbers(table: pd.DataFrame, column: str) -> Floats:
    """Return a column as floats, NaN where it is missing or not finite, or not there at all."""
    if column not in table:
        return np.full(len(table), np.nan)
    values: Floats = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
    broken = np.isinf(values)
    return np.where(broken, np.nan, values) if broken.any() else values


def codes_of(values: pd.Series) -> tuple[Ints, list[str]]:
    """Return a number per row (-1 where missing) and the text each number stands for."""
    codes, names = pd.factorize(values)
    return codes.astype(np.int64), [str(name) for name in names]
