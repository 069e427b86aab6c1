"""Has a task become another one? New code or new data make its history misleading.

The latest peaks are ranked among the older ones. If they stand apart from them, and their
inputs do not, the task has changed: what is older is retired. Smaller changes are left to the
view of the latest runs, which follows them by itself.
"""

from __future__ import annotations

import math

import numpy as np

from prophase.sizing.least_waste.ladder import Floats

#: latest runs that are held against the older ones, and how many of those there must be
LATEST, _FEWEST_OLDER = 10, 14
#: rank-sum score, and ratio of medians, beyond which a task has changed
_SCORE, _RATIO = 4.0, 1.2
#: inputs explain a change if their median left this range of the older ones
_USUAL_INPUTS = (0.1, 0.9)


def has_changed(peaks: Floats, inputs: Floats) -> bool:
    """Say whether the latest peaks stand apart from the older ones without a reason.

    Parameters
    ----------
    peaks, inputs : arrays
        Peaks and logarithms of input sizes, oldest first; NaN where an input is unknown.

    Examples
    --------
    >>> peaks = np.r_[np.linspace(4.0, 4.2, 30), np.linspace(6.4, 6.6, 10)]
    >>> has_changed(peaks, np.full(40, np.nan))
    True
    >>> has_changed(peaks, np.log(peaks))
    False
    """
    older, latest = peaks[:-LATEST], peaks[-LATEST:]
    count = len(older)
    if count < _FEWEST_OLDER:
        return False
    middle = older.mean()
    if abs(latest.mean() - middle) < 0.1 * middle:
        return False
    below = (older[:, None] < latest).sum() + 0.5 * (older[:, None] == latest).sum()
    pairs = LATEST * count
    score = (below - 0.5 * pairs) / math.sqrt(pairs * (LATEST + count + 1) / 12)
    ratio = float(np.median(latest)) / float(np.median(older))
    if abs(score) < _SCORE or 1 / _RATIO < ratio < _RATIO:
        return False
    known = inputs[:-LATEST][inputs[:-LATEST] == inputs[:-LATEST]]
    if not len(known):
        return True
    low, high = np.quantile(known, _USUAL_INPUTS)
    return bool(low <= np.median(inputs[-LATEST:]) <= high)
