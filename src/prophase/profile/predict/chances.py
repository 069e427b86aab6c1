"""Chances read off a prediction's point and 90 % range.

One outcome in twenty lies below the range and one above it; the point parts the rest. In
between, and in the tails, the logarithm of the outcome is taken to spread evenly and
exponentially.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.profile.predict.memory import Floats

_TAIL = 0.05
#: ends and point closer than this, in logarithms, are one
_LEAST = 1e-6


def probability_above(answers: pd.DataFrame, value: float) -> Floats:
    """Return the probability that each outcome exceeds a value; NaN where nothing is known.

    Parameters
    ----------
    answers : DataFrame
        With ``value``, ``low`` and ``high``, as :meth:`Predictor.predict` returns them.

    Examples
    --------
    >>> answers = pd.DataFrame({"value": [10.0], "low": [1.0], "high": [100.0]})
    >>> [probability_above(answers, at).round(3).item() for at in (1.0, 10.0, 100.0, 1000.0)]
    [0.95, 0.5, 0.05, 0.0]
    """
    point, low, high = (
        np.log(np.maximum(answers[name].to_numpy(dtype=np.float64), 1e-300))
        for name in ("value", "low", "high")
    )
    at = np.log(max(value, 1e-300))
    below = np.maximum(point - low, _LEAST)
    above = np.maximum(high - point, _LEAST)
    inside = 0.5 - _TAIL
    with np.errstate(over="ignore", invalid="ignore"):
        # each tail falls off as steeply as the side of the range beside it
        far_below = 1 - _TAIL * np.exp((at - low) * inside / (_TAIL * below))
        far_above = _TAIL * np.exp((high - at) * inside / (_TAIL * above))
        near_below = 0.5 + inside * (point - at) / below
        near_above = 0.5 - inside * (at - point) / above
    found = np.select(
        [at < low, at <= point, at <= high], [far_below, near_below, near_above], far_above
    )
    known = np.isfinite(point) & np.isfinite(low) & np.isfinite(high)
    return np.where(known, np.clip(found, 0.0, 1.0), np.nan)


def put_together(answers: pd.DataFrame) -> tuple[float, float, float]:
    """Return point and range of an outcome that is one of several equally likely ones.

    Examples
    --------
    >>> answers = pd.DataFrame({"value": [1.0, 100.0], "low": [0.9, 90.0], "high": [1.1, 110.0]})
    >>> value, low, high = put_together(answers)
    >>> low < 1 < 100 < high
    True
    """
    known = answers[np.isfinite(answers["value"].to_numpy(dtype=np.float64))]
    if len(known) < 2:
        row = (known if len(known) else answers).iloc[0]
        return float(row["value"]), float(row["low"]), float(row["high"])
    value = float(np.median(known["value"]))
    ends = known[["low", "high"]].to_numpy(dtype=np.float64)
    if not np.isfinite(ends).all() or ends.min() <= 0:
        return value, float(ends[:, 0].min()), float(ends[:, 1].max())
    places = np.exp(np.linspace(np.log(ends.min()), np.log(ends.max()), 200))
    above = np.array([probability_above(known, place).mean() for place in places])
    low = float(places[max(int((above >= 1 - _TAIL).sum()) - 1, 0)])
    high = float(places[min(int((above > _TAIL).sum()), len(places) - 1)])
    return value, min(low, value), max(high, value)
