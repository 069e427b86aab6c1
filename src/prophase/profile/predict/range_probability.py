"""Chances read off a prediction's point and 90 % range.

One outcome in twenty lies below the range and one above it; the point parts the rest. In
between, and in the tails, the logarithm of the outcome is taken to spread evenly and
exponentially.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.array_types import Array, Bools, Floats

_TAIL = 0.05
#: ends and point closer than this, in logarithms, are one
_LEAST = 1e-6
#: a place between the ends of ranges is searched by halving
_HALVINGS = 30


def probability_above(answers: pd.DataFrame, value: float | Floats) -> Floats:
    """Return the probability that each outcome exceeds a value; NaN where nothing is known.

    Parameters
    ----------
    answers : DataFrame
        With ``value``, ``low`` and ``high``, as :meth:`Predictor.predict` returns them.
    value : float or array
        One for all, or one per answer.

    Examples
    --------
    >>> answers = pd.DataFrame({"value": [10.0], "low": [1.0], "high": [100.0]})
    >>> [probability_above(answers, at).round(3).item() for at in (1.0, 10.0, 100.0, 1000.0)]
    [0.95, 0.5, 0.05, 0.0]
    """
    columns = answers[["value", "low", "high"]].to_numpy(dtype=np.float64)
    return _Spread.of(columns).above(np.log(np.maximum(value, 1e-300)))


@dataclass(frozen=True)
class _Spread:
    """Points and ranges of answers, in logarithms."""

    point: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, columns: Floats) -> _Spread:
        return cls(*np.log(np.maximum(columns, 1e-300)).T)

    @cached_property
    def _sides(self) -> tuple[Floats, Floats, Bools]:
        """How far each range reaches below and above its point, and which are known."""
        below = np.maximum(self.point - self.low, _LEAST)
        above = np.maximum(self.high - self.point, _LEAST)
        return below, above, np.isfinite(self.point) & np.isfinite(below) & np.isfinite(above)

    def above(self, at: float | Floats) -> Floats:
        """Return the probability that each outcome exceeds a value."""
        point, low, high = self.point, self.low, self.high
        below, above, known = self._sides
        inside, under = 0.5 - _TAIL, at < low
        with np.errstate(over="ignore", invalid="ignore"):
            # each tail falls off as steeply as the side of the range beside it
            out = np.where(under, (at - low) / below, (high - at) / above)
            far = _TAIL * np.exp(inside / _TAIL * out)
            near = 0.5 + inside * ((point - at) / np.where(at <= point, below, above))
        found = np.where(under, 1 - far, np.where(at > high, far, near))
        return np.where(known, np.clip(found, 0.0, 1.0), np.nan)


def put_together_each(
    answers: pd.DataFrame | Mapping[str, Array], group: NDArray[np.intp]
) -> tuple[Floats, Floats, Floats]:
    """Return point and range of each group of answers, one of which comes true.

    Parameters
    ----------
    answers : DataFrame or arrays by name
        With ``value``, ``low`` and ``high``.
    group : array
        The number of each answer's group; every number from 0 on has one.

    Examples
    --------
    >>> answers = pd.DataFrame({"value": [1.0, 100.0], "low": [0.9, 90.0], "high": [1.1, 110.0]})
    >>> value, low, high = put_together_each(answers, np.array([0, 0]))
    >>> bool(low[0] < 1 < 100 < high[0])
    True
    """
    groups = int(group.max()) + 1
    columns = np.column_stack(
        [np.asarray(answers[name], np.float64) for name in ("value", "low", "high")]
    )
    known = np.isfinite(columns[:, 0])
    columns, group = columns[known], group[known]
    held = np.bincount(group, minlength=groups)
    value = _medians(columns[:, 0], group, groups)
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, group, columns[:, 1])
    np.maximum.at(high, group, columns[:, 2])
    low[held == 0] = high[held == 0] = np.nan
    # where a range is open, or there is one answer, its ends are those of all
    several = (held > 1) & np.isfinite(low) & np.isfinite(high) & (low > 0)
    begin, end = (np.log(np.where(several, part, 1.0)) for part in (low, high))
    spread = _Spread.of(columns)
    inner = _places(spread, group, held, begin, end, (1 - _TAIL, _TAIL))
    low = np.where(several, np.minimum(np.exp(inner[0]), value), low)
    high = np.where(several, np.maximum(np.exp(inner[1]), value), high)
    return value, low, high


def beside_own(
    own: Mapping[str, Array], value: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return point and range of filled jobs, the range midway to that of the job as it is.

    A finished job that fills a gap lends its whole kind, so a filled job seems better known than
    it is; the job with its gap has a range that holds, and is wide.

    Examples
    --------
    >>> own = {"low": np.array([1.0]), "high": np.array([400.0])}
    >>> ends = beside_own(own, np.array([10.0]), np.array([9.0]), np.array([16.0]))
    >>> [float(end[0]) for end in ends]
    [10.0, 3.0, 80.0]
    """
    low = np.minimum(np.sqrt(np.asarray(own["low"], np.float64) * low), value)
    return value, low, np.maximum(np.sqrt(np.asarray(own["high"], np.float64) * high), value)


def _medians(values: Floats, group: NDArray[np.intp], groups: int) -> Floats:
    """Return the median of each group; NaN of one without values."""
    found = np.full(groups, np.nan)
    if groups == 1:
        # one job is to be answered within milliseconds
        found[0] = np.median(values) if len(values) else np.nan
        return found
    middle = pd.Series(values).groupby(group).median()
    found[middle.index.to_numpy()] = middle.to_numpy()
    return found


def _places(
    given: _Spread, group: NDArray[np.intp], held: NDArray[np.intp],
    begin: Floats, end: Floats, shares: tuple[float, ...],
) -> list[Floats]:  # fmt: skip
    """Return, in logarithms, where each of the shares of each group's outcomes lies above."""
    groups, times = len(held), len(shares)
    # all shares at once: every group once per share
    everywhere = np.concatenate([group + place * groups for place in range(times)])
    spread = _Spread(*(np.tile(part, times) for part in (given.point, given.low, given.high)))
    begin, end = np.tile(begin, times), np.tile(end, times)
    wanted = np.repeat(shares, groups) * np.tile(np.maximum(held, 1), times)
    for _ in range(_HALVINGS):
        middle = (begin + end) / 2
        above = spread.above(middle[everywhere])
        beyond = np.bincount(everywhere, above, minlength=times * groups) >= wanted
        begin, end = np.where(beyond, middle, begin), np.where(beyond, end, middle)
    return np.split((begin + end) / 2, times)
