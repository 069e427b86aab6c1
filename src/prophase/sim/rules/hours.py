"""Hours in which only short jobs start, such as the day of a cluster with day and night rules."""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.sim.rules.parsing import number_column
from prophase.sim.signatures import Floats


def hours_matrix(hours: pd.DataFrame) -> Floats:
    """Return the hours by their beginning: from, to, and the longest job that starts in them.

    Parameters
    ----------
    hours : DataFrame
        One row per time span: ``from_s``, ``to_s``. A job starts in it only if its time limit lets
        it end before ``to_s``, and is at most ``longest_s`` where that is given. Outside of all
        spans every job may start.

    Examples
    --------
    >>> hours_matrix(pd.DataFrame({"from_s": [0.0], "to_s": [3600.0], "longest_s": [60.0]}))
    array([[   0., 3600.,   60.]])
    """
    if not {"from_s", "to_s"} <= set(hours.columns):
        raise InputError(
            "the table of hours needs the columns from_s and to_s, and may have longest_s. "
            f"It has: {', '.join(map(str, hours.columns))}."
        )
    found = hours.reindex(columns=["from_s", "to_s", "longest_s"])
    columns = [
        number_column(found, name, "hours", finite=name == "from_s") for name in ("from_s", "to_s")
    ]
    columns.append(
        number_column(found, "longest_s", "hours", above=0, finite=False, missing=np.inf)
    )
    rows: Floats = np.column_stack(columns)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    begin, end = rows[:, 0], rows[:, 1]
    if not (np.isfinite(begin) & (end > begin)).all():
        bad = rows[~(np.isfinite(begin) & (end > begin))][0]
        raise InputError(f"hours from {bad[0]:g} to {bad[1]:g} are no time span.")
    if (begin[1:] < end[:-1]).any():
        late = int(np.argmax(begin[1:] < end[:-1]))
        raise InputError(f"hours from {begin[late + 1]:g} begin before those before them end.")
    return rows


def longest_admitted(hours: pd.DataFrame) -> float:
    """Return the longest job that can start one day; infinity if any can after the last hours."""
    rows = hours_matrix(hours)
    if not len(rows) or np.isfinite(rows[-1, 1]):
        return np.inf
    return float(np.minimum(rows[:, 2], rows[:, 1] - rows[:, 0]).max())
