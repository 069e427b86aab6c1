"""Places in the order of size; equal values share the mean of theirs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prophase.array_types import Floats


def ranks(values: ArrayLike) -> Floats:
    """Return the rank of each value from 1 on.

    What `scipy.stats.rankdata` returns, without `scipy.stats`, which takes a second to load.

    Examples
    --------
    >>> ranks([10.0, 30.0, 10.0, 20.0]).tolist()
    [1.5, 4.0, 1.5, 3.0]
    """
    _, group, copies = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(copies)
    return (last - (copies - 1) / 2)[group]
