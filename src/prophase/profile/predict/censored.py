"""Jobs that are known to need at least so long: killed at their limit, or still running.

Left out, they make every memory too short; taken as they are, a job that was killed counts as if
it had been done. Here each counts as what like jobs took that ran longer (its share is moved
to the right, as Efron has it for Kaplan and Meier's estimate), and as its own bound where none
did. A prediction is still capped by the job's own limit.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.array_types import Bools, Floats, Ints
from prophase.profile.predict.back_off_keys import Level
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.submit_columns import numbers

#: longer jobs of the same key that are needed to say how much longer
_FEWEST = 2
#: its multiples lie evenly between whole numbers, wherever they begin and end
_GOLDEN = (5**0.5 - 1) / 2


def was_cut_short(jobs: pd.DataFrame) -> Bools:
    """Say which jobs were ended by their time limit.

    Examples
    --------
    >>> was_cut_short(pd.DataFrame({"status": ["timeout", "completed"]})).tolist()
    [True, False]
    """
    if "status" not in jobs:
        return np.zeros(len(jobs), dtype=np.bool_)
    return np.asarray(jobs["status"].eq("timeout").fillna(False), dtype=np.bool_)


def still_running(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs that had begun and not ended, with how long they had run at the table's end.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {"status": ["running", "completed"], "start_s": [10.0, 0.0], "end_s": [None, 100.0]}
    ... )
    >>> still_running(jobs)["duration_s"].tolist()
    [90.0]
    """
    if "status" not in jobs or "start_s" not in jobs:
        return jobs[:0]
    start = numbers(jobs, "start_s")
    running = jobs["status"].eq("running").fillna(False).to_numpy(dtype=bool) & np.isfinite(start)
    if not running.any():
        return jobs[:0]
    clocks = np.concatenate([numbers(jobs, name) for name in ("submit_s", "start_s", "end_s")])
    now = float(clocks[np.isfinite(clocks)].max())
    found = jobs[running & (start < now)]
    return found.assign(duration_s=now - numbers(found, "start_s"), end_s=now)


def lengthened(
    levels: tuple[Level, ...], recall: list[Recall], bound: Floats, turn: Ints
) -> Floats:
    """Return what jobs took that are alike and ran longer than the bound; else the bound.

    Of the longer ones each job takes another in its ``turn``, so that together they lie as those
    do. With the middle one for all, medians of jobs with tight limits came out up to 60 % too long.
    """
    value = np.full(len(bound), np.nan)
    part_of_one = (turn + 1) * _GOLDEN % 1.0
    for level, part in zip(levels, recall, strict=True):
        if level.closeness == "new":
            continue
        longer = part.sample > bound[:, None] + 1e-9
        count = longer.sum(axis=1)
        # samples lie in order of size, so the longer ones are the last of those that are known
        last = np.minimum(part.count, part.sample.shape[1]) - 1
        place = np.maximum(last - (part_of_one * count).astype(np.int64), 0)
        own = part.sample[np.arange(len(bound)), place]
        value = np.where(np.isnan(value) & (count >= _FEWEST), own, value)
    return np.where(np.isnan(value), bound, value)
