"""Columns of text made in bulk: a million names cost tens of milliseconds, not seconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def chosen(names: Sequence[str | None], codes: Ints) -> pd.Series:
    """Return ``names[code]`` for every code; a negative code or a name None becomes missing.

    Examples
    --------
    >>> chosen(["ps", "worker"], np.array([1, 0, -1])).tolist()
    ['worker', 'ps', nan]
    """
    return _series(pa.array(names, pa.large_string()).take(pa.array(codes, mask=codes < 0)))


def numbered(prefix: str, numbers: Ints, *, suffix: pd.Series | None = None) -> pd.Series:
    """Return names such as ``job-7``, or ``job-7/worker`` with a suffix per row.

    Examples
    --------
    >>> numbered("job-", np.array([7, 12])).tolist()
    ['job-7', 'job-12']
    """
    parts = [pa.scalar(prefix, pa.large_string()), pc.cast(pa.array(numbers), pa.large_string())]
    if suffix is not None:
        parts += [pa.scalar("/", pa.large_string()), pa.array(suffix, pa.large_string())]
    return _series(pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string())))


def hex_names(rng: np.random.Generator, count: int, width: int, *, first: int = 0) -> pa.Array:
    """Return distinct names of ``width`` hexadecimal digits, as anonymised traces have them.

    Names made in several calls differ too if each goes on counting where the last one
    stopped; ``first`` says where that is.
    """
    digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
    picked = digits[rng.integers(0, 16, (count, width), dtype=np.uint8)]
    # eight digits of a counter, so that no name can repeat
    counter = np.arange(first, first + count, dtype=np.uint32)[:, None]
    picked[:, 4:12] = digits[(counter >> np.arange(28, -4, -4, dtype=np.uint32)) & 15]
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int64)
    return pa.LargeStringArray.from_buffers(
        count, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(picked))
    )


def where_known(values: Floats, known: Flags) -> Floats:
    """Return the values, missing where they are not known."""
    return np.where(known, values, np.nan)


def _series(names: pa.Array) -> pd.Series:
    return pd.Series(names, dtype="str")
