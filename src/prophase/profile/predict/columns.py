"""A few jobs as plain arrays: what methods read of a job table, without a table's cost.

Making a DataFrame of one job and reading its columns takes longer than the answer itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class Columns:
    """Columns of jobs by name; text as objects, everything else as floats.

    Examples
    --------
    >>> jobs = Columns.of([{"user": "ann", "request_gpus": 2.0}, {"user": "bob"}])
    >>> len(jobs), jobs["request_gpus"], "queue" in jobs
    (2, array([ 2., nan]), False)
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], rows: int) -> None:
        self._arrays, self._rows = arrays, rows

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> Columns:
        """Return jobs that are given one by one; what a job does not say is missing."""
        arrays: dict[str, NDArray[Any]] = {}
        for name in dict.fromkeys(name for row in rows for name in row):
            values = [row.get(name) for row in rows]
            text = any(isinstance(value, str) for value in values)
            arrays[name] = np.array(values, dtype=object if text else np.float64)
        return cls(arrays, len(rows))

    def __len__(self) -> int:
        return self._rows

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._arrays)

    def table(self) -> pd.DataFrame:
        """Return the same jobs as a table."""
        return pd.DataFrame(self._arrays)
