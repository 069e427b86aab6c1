"""Arrays that grow during a replay."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


def grown(rows: NDArray[Scalar], needed: int) -> NDArray[Scalar]:
    """Return an array with room for so many rows, at least twice the old ones if it has to grow."""
    if needed <= len(rows):
        return rows
    larger = np.zeros((max(needed, 2 * len(rows)), *rows.shape[1:]), rows.dtype)
    larger[: len(rows)] = rows
    return larger
