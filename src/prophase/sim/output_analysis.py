"""Intervals for simulated numbers, done properly.

Jobs of one run resemble their neighbours, so the usual standard error is far too small.
Here are: where a run's start-up ends (MSER-5), intervals from batches of one run, from
independent runs, from pairs of runs with the same random numbers, and from days of a trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from prophase.errors import ParameterError

Floats = NDArray[np.float64]

_DAY_S = 86400.0


@dataclass(frozen=True)
class Interval:
    """A mean and the interval that holds the true one in ``level`` of all cases."""

    mean: float
    low: float
    high: float
    level: float
    method: str
    #: independent values behind it: batches, replications, pairs or days
    values: int
    #: observations cut off as start-up
    cut: int = 0

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def holds(self, value: float) -> bool:
        """Tell whether a value lies inside."""
        return self.low <= value <= self.high


def mser5(values: ArrayLike) -> int:
    """Return how many observations at the start to cut off as warm-up.

    Means of five are taken; the cut is where the squared standard error of what remains is
    least (White 1997). At most half of the run is cut: a minimum in the second half says
    that the run is too short, and half is returned.

    Examples
    --------
    >>> run = np.concatenate([np.full(50, 100.0), np.tile([1.0, 2.0, 3.0, 2.0, 2.5, 1.5], 100)])
    >>> mser5(run)
    50
    """
    run = _checked(values, least=10)
    means = run[: run.size // 5 * 5].reshape(-1, 5).mean(axis=1)
    left = np.arange(means.size, 0, -1, dtype=float)
    # sums over the tail; shifted, because squares of large values lose the digits that matter
    shifted = means - means.mean()
    tail = np.cumsum(shifted[::-1])[::-1]
    squares = np.cumsum(shifted[::-1] ** 2)[::-1]
    half = max(1, means.size // 2)
    error = (squares - tail**2 / left)[: half + 1] / left[: half + 1] ** 2
    return int(np.argmin(error)) * 5


def batch_means(
    values: ArrayLike, *, batches: int = 30, level: float = 0.95, warm_up: int | None = 0
) -> Interval:
    """Return an interval for the mean of one long run of dependent values.

    Parameters
    ----------
    values : array
        In order of time.
    batches : int, default=30
        Batches long enough to be nearly independent; fewer are safer, more are sharper.
    warm_up : int or None, default=0
        Observations to cut at the start; None lets MSER-5 decide.

    Examples
    --------
    >>> batch_means(np.tile([1.0, 2.0, 3.0], 100)).mean
    2.0
    """
    if batches < 2:
        raise ParameterError(f"batches is {batches}, but at least 2 are needed.")
    run = _checked(values, least=2 * batches)
    cut = mser5(run) if warm_up is None else warm_up
    kept = run[cut:]
    size = kept.size // batches
    if size < 1:
        raise ParameterError(
            f"{kept.size} observations are left after the warm-up: too few for {batches} batches."
        )
    # the rest that fills no batch is cut from the start, where start-up lingers
    means = kept[kept.size - size * batches :].reshape(batches, size).mean(axis=1)
    return _t_interval(means, level, "batch means", cut=run.size - size * batches)


def replication_interval(means: ArrayLike, *, level: float = 0.95) -> Interval:
    """Return an interval from one value per independent run.

    Examples
    --------
    >>> round(replication_interval([9.0, 10.0, 11.0]).half_width, 4)
    2.4841
    """
    return _t_interval(_checked(means, least=2), level, "replications")


def paired_difference(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> Interval:
    """Return an interval for the mean of second - first, run by run.

    The runs of a pair share their random numbers, so what both have in common drops out.

    Examples
    --------
    >>> difference = paired_difference([10.0, 20.0, 30.0], [11.0, 21.5, 31.0])
    >>> round(difference.mean, 4), difference.holds(0.0)
    (1.1667, False)
    """
    one, two = _checked(first, least=2), _checked(second, least=2)
    if one.size != two.size:
        raise ParameterError(
            f"{one.size} and {two.size} runs cannot be paired. Give one of each per seed."
        )
    return _t_interval(two - one, level, "paired differences")


def bootstrap_days(
    time_s: ArrayLike,
    values: ArrayLike,
    *,
    statistic: Callable[[Floats], float] | None = None,
    level: float = 0.95,
    draws: int = 1000,
    random_state: int = 0,
    day_s: float = _DAY_S,
) -> Interval:
    """Return an interval for a statistic of a trace by drawing whole days with replacement.

    Jobs of a day share its bursts, so days are drawn, not jobs.

    Parameters
    ----------
    time_s : array
        When each job was submitted; decides its day.
    values : array
        One per job, such as its wait.
    statistic : function, optional
        From values to a number; the mean if not given.

    Examples
    --------
    >>> days = np.repeat(np.arange(30), 10)
    >>> interval = bootstrap_days(86400.0 * days, days % 2, draws=200)
    >>> interval.low < 0.5 < interval.high
    True
    """
    when, what = np.asarray(time_s, float), _checked(values, least=1)
    if when.shape != what.shape:
        raise ParameterError(f"{when.size} times and {what.size} values; give one of each per job.")
    day = np.floor(when / day_s).astype(np.int64)
    names, place = np.unique(day, return_inverse=True)
    if names.size < 2:
        raise ParameterError("all jobs are of one day; a bootstrap over days needs at least two.")
    rng = np.random.default_rng(random_state)
    if statistic is None:
        sums = np.bincount(place, weights=what)
        counts = np.bincount(place)
        drawn = rng.integers(names.size, size=(draws, names.size))
        found = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
        mean = float(what.mean())
    else:
        by_day = [what[place == number] for number in range(names.size)]
        picks = rng.integers(names.size, size=(draws, names.size))
        found = np.array([statistic(np.concatenate([by_day[d] for d in row])) for row in picks])
        mean = statistic(what)
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    # few days spread too little under the bootstrap: widen as t does over the normal law
    widen = float(stdtrit(names.size - 1, (1 + level) / 2) / stdtrit(1e9, (1 + level) / 2))
    widen *= float(np.sqrt(names.size / (names.size - 1)))
    return Interval(
        mean,
        mean - (mean - float(low)) * widen,
        mean + (float(high) - mean) * widen,
        level,
        "bootstrap over days",
        int(names.size),
    )


def _t_interval(means: Floats, level: float, method: str, cut: int = 0) -> Interval:
    if not 0 < level < 1:
        raise ParameterError(f"level is {level}, but lies between 0 and 1, such as 0.95.")
    mean = float(means.mean())
    error = float(means.std(ddof=1) / np.sqrt(means.size))
    half = float(stdtrit(means.size - 1, (1 + level) / 2)) * error
    return Interval(mean, mean - half, mean + half, level, method, int(means.size), cut)


def _checked(values: ArrayLike, *, least: int) -> Floats:
    run = np.asarray(values, np.float64).reshape(-1)
    if run.size < least:
        raise ParameterError(f"{run.size} values are too few; at least {least} are needed.")
    if not np.isfinite(run).all():
        raise ParameterError("some values are missing or infinite; leave those out first.")
    return run
