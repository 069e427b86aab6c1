"""Which columns were recorded all along: one that begins halfway makes equal jobs look unlike."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.profile.predict.memory import Floats

#: the history is looked at in this many parts, of so many jobs at least
_PARTS = 5
_FEWEST = 30
#: shares of jobs without a value: the column is not recorded; it is
_NEARLY_ALL = 0.98
_RECORDED = 0.8


def steadily_recorded(seen: pd.DataFrame, arrival: Floats) -> list[str]:
    """Return the columns that were recorded from the beginning of a history to its end.

    Where a log begins to note, say, GPUs, a job that was "unknown" is "none" from then on,
    and no later job would share its key with an earlier one.

    Examples
    --------
    >>> gpus = [None] * 250 + [0.0, 1.0] * 25
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 150, "request_gpus": gpus})
    >>> steadily_recorded(jobs, np.arange(300.0))
    ['user']
    """
    names = [str(name) for name in seen]
    if len(seen) < _PARTS * _FEWEST:
        return names
    parts = np.array_split(np.argsort(arrival, kind="stable"), _PARTS)
    steady = []
    for name in names:
        missing = seen[name].isna().to_numpy()
        shares = [float(missing[part].mean()) for part in parts]
        begun_late = max(shares) > _NEARLY_ALL and min(shares) < _RECORDED
        # what nearly every job leaves out may have just begun to be recorded
        hardly_ever = _NEARLY_ALL < float(missing.mean()) < 1
        if not (begun_late or hardly_ever):
            steady.append(name)
    return steady
