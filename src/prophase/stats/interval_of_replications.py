"""Intervals from independent runs of a simulation, and from batches of one long run.

Jobs of one run resemble their neighbours, so the usual standard error is far too small: values
of whole runs are compared, or of batches long enough to be nearly independent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from prophase.errors import ParameterError
from prophase.stats.blocks import Floats, t_factor
from prophase.stats.estimate import LEVEL, Estimate


def from_replications(
    values: ArrayLike, *, level: float = LEVEL, method: str = "replications"
) -> Estimate:
    """Return the mean of one value per independent run, or of differences of paired runs.

    Examples
    --------
    >>> round(from_replications([9.0, 10.0, 11.0]).half_width, 4)
    2.4841
    >>> from_replications([9.0]).reason
    'too few to say: 1 run, at least 2 needed'
    """
    runs = _checked(values, least=1)
    mean, count = float(runs.mean()), len(runs)
    if count < 2:
        why = "too few to say: 1 run, at least 2 needed"
        return Estimate(mean, level=level, n=count, blocks=count, method=method, reason=why)
    half = t_factor(count - 1, level) * float(runs.std(ddof=1)) / count**0.5
    return Estimate(mean, mean - half, mean + half, level, count, count, method)


def batch_means(
    values: ArrayLike, *, batches: int = 30, level: float = LEVEL, warm_up: int | None = 0
) -> Estimate:
    """Return the mean of one long run of dependent values.

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
    >>> batch_means(np.tile([1.0, 2.0, 3.0], 100)).value
    2.0
    """
    if batches < 2:
        raise ParameterError(f"batches is {batches}, but at least 2 are needed.")
    run = _checked(values, least=2 * batches)
    kept = run[mser5(run) if warm_up is None else warm_up :]
    size = kept.size // batches
    if size < 1:
        raise ParameterError(
            f"{kept.size} observations are left after the warm-up: too few for {batches} batches."
        )
    # the rest that fills no batch is cut from the start, where start-up lingers
    used = kept[kept.size - size * batches :]
    cut = run.size - used.size
    method = "batch means" + f" after a warm-up of {cut:,}" * bool(cut)
    found = from_replications(used.reshape(batches, size).mean(axis=1), level=level, method=method)
    return Estimate(found.value, found.low, found.high, level, used.size, batches, method)


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


def _checked(values: ArrayLike, *, least: int) -> Floats:
    run = np.asarray(values, np.float64).reshape(-1)
    if run.size < least:
        raise ParameterError(f"{run.size} values are too few; at least {least} are needed.")
    if not np.isfinite(run).all():
        raise ParameterError("some values are missing or infinite; leave those out first.")
    return run
