"""How sure a number of a whole trace is: days, users or jobs drawn anew.

Jobs of one day share its bursts and jobs of one user their habits, so whole days are drawn if
there are enough of them, else whole users.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.trace.describe.column_arrays import has_values, numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEWEST_GROUPS = 5
_DRAWS = 300
_DAY_S = 86_400.0


def groups_of(jobs: pd.DataFrame) -> tuple[Ints, str]:
    """Return which group each job is drawn with, and what the groups are.

    Examples
    --------
    >>> groups_of(pd.DataFrame({"user": list("abcdea"), "submit_s": 0.0}))
    (array([0, 1, 2, 3, 4, 0]), 'users')
    """
    clock = next((name for name in ("submit_s", "start_s") if has_values(jobs, name)), None)
    if clock is not None:
        days = np.floor(np.nan_to_num(numbers(jobs, clock)) / _DAY_S)
        place = np.unique(days, return_inverse=True)[1].astype(np.int64)
        if place.max(initial=0) + 1 >= _FEWEST_GROUPS:
            return place, "days"
    if has_values(jobs, "user"):
        codes = pd.factorize(jobs["user"])[0].astype(np.int64)
        if codes.max(initial=0) + 1 >= _FEWEST_GROUPS:
            return codes - codes.min(), "users"
    return np.arange(len(jobs)), "jobs"


def interval_of_ratio(jobs: pd.DataFrame, above: Floats, below: Floats) -> dict[str, Any]:
    """Return a ratio of two sums over jobs with its 95 % interval."""
    place, drawn = groups_of(jobs)
    tops, bottoms = np.bincount(place, above), np.bincount(place, below)
    rng = np.random.default_rng(0)
    picks = rng.integers(len(tops), size=(_DRAWS, len(tops)))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = tops[picks].sum(axis=1) / bottoms[picks].sum(axis=1)
    low, high = np.nanquantile(found, [0.025, 0.975])
    value = float(above.sum() / below.sum())
    return {"value": value, "low": float(low), "high": float(high), "drawn": drawn}


def interval_of_statistic(
    jobs: pd.DataFrame, values: Floats, statistic: Callable[[Floats], float]
) -> dict[str, Any]:
    """Return a statistic of values, one per job, with its 95 % interval."""
    place, drawn = groups_of(jobs)
    order = np.argsort(place, kind="stable")
    parts = np.split(values[order], np.cumsum(np.bincount(place))[:-1])
    rng = np.random.default_rng(0)
    draws = _DRAWS if len(values) < 50_000 else 100
    found = [
        statistic(np.concatenate([parts[one] for one in rng.integers(len(parts), size=len(parts))]))
        for _ in range(draws)
    ]
    low, high = np.quantile(found, [0.025, 0.975])
    value = statistic(values)
    return {"value": value, "low": float(low), "high": float(high), "drawn": drawn}
