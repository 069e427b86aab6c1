"""Pick one number from a distribution: often close to the outcome, rarely far off."""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.memory import Floats

#: distances from the outcome, in logarithms, within which an answer is useful. How long a job
#: runs is useful to know within a factor of two; what it uses often repeats nearly exactly
FACTOR_TWO = (float(np.log(2.0)),)
NEARLY_EXACT = (0.05, 0.1, 0.2, float(np.log(2.0)))
#: what a squared miss of the size of the target's variance costs, in shares of useful answers
_PRICE = {FACTOR_TWO: 0.5, NEARLY_EXACT: 0.2}
#: answers nearly as good as the best are averaged, which steadies the choice
_INDIFFERENCE = 0.02
#: in logarithms, how far the outcomes around a nearly exact answer lie from it at most
_AROUND = 0.2
_BATCH = 500


def best_points(
    steps: Floats, variance: float, useful: tuple[float, ...] = FACTOR_TWO
) -> Floats:  # fmt: skip
    """Return the best answer for each row of equally likely outcomes.

    Parameters
    ----------
    steps : array, shape (jobs, outcomes)
        Equally likely outcomes of each job, in logarithms, in order of size.
    variance : float
        Of the target's logarithm over all jobs: the scale of a large miss.
    useful : tuple
        :data:`FACTOR_TWO` or :data:`NEARLY_EXACT`.

    Examples
    --------
    Two humps: the larger one is named, not the emptiness between them.

    >>> steps = np.array([[0.0] * 14 + [5.0] * 6])
    >>> best_points(steps, 25.0).round(2)
    array([0.])
    """
    points = np.empty(len(steps))
    for first in range(0, len(steps), _BATCH):
        rows = steps[first : first + _BATCH].astype(np.float32)
        candidates = rows[:, ::2] if useful == FACTOR_TWO else rows
        apart = np.abs(candidates[:, :, None] - rows[:, None, :])
        worth = -_PRICE[useful] / variance * (apart**2).mean(axis=2)
        for reach in useful:
            # soft edges: 1.2 times the distance counts nothing, 0.8 times it counts fully
            share = np.clip((1.2 * reach - apart) / (0.4 * reach), 0.0, 1.0).mean(axis=2)
            worth += share / len(useful)
        weight = np.exp((worth - worth.max(axis=1, keepdims=True)) / _INDIFFERENCE)
        points[first : first + _BATCH] = (weight * candidates).sum(axis=1) / weight.sum(axis=1)
    return points if useful == FACTOR_TWO else _settled(steps, points)


def _settled(steps: Floats, points: Floats) -> Floats:
    """Return the middle of the outcomes around each point: what it uses often repeats exactly."""
    begin = (steps < points[:, None] - _AROUND).sum(axis=1)
    last = np.maximum((steps <= points[:, None] + _AROUND).sum(axis=1) - 1, 0)
    rows = np.arange(len(points))
    middle = 0.5 * (steps[rows, (begin + last) // 2] + steps[rows, (begin + last + 1) // 2])
    return np.where(begin <= last, middle, points)
