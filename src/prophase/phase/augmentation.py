"""More series out of few: duplicated, stretched, compressed, padded."""

from __future__ import annotations

import numpy as np

from prophase.errors import ParameterError
from prophase.trace.series.usage_series import Floats


def duplicated(values: Floats, times: int = 2) -> Floats:
    """Return a series that runs several times, one after the other.

    Examples
    --------
    >>> duplicated(np.array([[1.0], [2.0]])).ravel().tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    return np.tile(values, (_whole("times", times), 1))


def stretched(values: Floats, times: int = 2) -> Floats:
    """Return a series that runs slower: every sample lasts for several.

    Examples
    --------
    >>> stretched(np.array([[1.0], [2.0]])).ravel().tolist()
    [1.0, 1.0, 2.0, 2.0]
    """
    return np.repeat(values, _whole("times", times), axis=0)


def compressed(
    values: Floats, rate: int = 4, *, noise: float = 0.0, random_state: int = 0
) -> Floats:
    """Return a series that runs faster: every ``rate`` samples become their mean.

    Parameters
    ----------
    noise : float, default=0
        Spread added to each mean, in spreads of the samples it is made of.

    Examples
    --------
    >>> compressed(np.arange(7.0)[:, None], 3).ravel().tolist()
    [1.0, 4.0, 6.0]
    """
    rate = _whole("rate", rate)
    if noise < 0:
        raise ParameterError(f"compressed: noise is {noise}. Pass 0 or more.")
    begins = np.arange(0, len(values), rate)
    counts = np.diff(np.append(begins, len(values)))[:, None]
    means = np.add.reduceat(values, begins, axis=0) / counts
    if not noise:
        return np.asarray(means)
    squares = np.add.reduceat(values**2, begins, axis=0) / counts
    spread = np.sqrt(np.maximum(squares - means**2, 0.0))
    rng = np.random.default_rng(random_state)
    return np.asarray(means + noise * spread * rng.normal(size=means.shape))


def padded(values: Floats, samples: int, *, fill: float = 0.0) -> Floats:
    """Return a series of so many samples: padded behind its end, or as it is if longer.

    Examples
    --------
    >>> padded(np.array([[1.0]]), 3).ravel().tolist()
    [1.0, 0.0, 0.0]
    """
    lacking = max(samples - len(values), 0)
    return np.vstack([values, np.full((lacking, values.shape[1]), fill)])


def side_by_side(one: Floats, other: Floats) -> Floats:
    """Return two series as one with the metrics of both, the shorter padded with zeros.

    Examples
    --------
    >>> side_by_side(np.ones((2, 1)), np.ones((1, 1))).tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """
    samples = max(len(one), len(other))
    return np.hstack([padded(one, samples), padded(other, samples)])


def _whole(name: str, value: int) -> int:
    if value < 1:
        raise ParameterError(f"{name} is {value}. Pass a whole number of 1 or more.")
    return value
