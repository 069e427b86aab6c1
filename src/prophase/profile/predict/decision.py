"""Pick one number from a distribution: often right within a factor of two, rarely far off."""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.memory import Floats

#: within this distance of the outcome, in logarithms, an answer is useful
_FACTOR_TWO = float(np.log(2.0))
#: what a squared miss of the size of the target's variance costs, in shares of useful answers
_PRICE = 0.5
#: answers nearly as good as the best are averaged, which steadies the choice
_INDIFFERENCE = 0.02
_BATCH = 1_000


def best_points(steps: Floats, variance: float) -> Floats:
    """Return the best answer for each row of equally likely outcomes.

    Examples
    --------
    Two humps: the larger one is named, not the emptiness between them.

    >>> steps = np.array([[0.0] * 12 + [5.0] * 8])
    >>> best_points(steps, 25.0).round(2)
    array([0.])
    """
    points = np.empty(len(steps))
    for first in range(0, len(steps), _BATCH):
        rows = steps[first : first + _BATCH].astype(np.float32)
        candidates = rows[:, ::2]
        apart = np.abs(candidates[:, :, None] - rows[:, None, :])
        # soft edges: 1.2 times the distance counts nothing, 0.8 times it counts fully
        useful = np.clip((1.2 * _FACTOR_TWO - apart) / (0.4 * _FACTOR_TWO), 0.0, 1.0).mean(axis=2)
        worth = useful - _PRICE / variance * (apart**2).mean(axis=2)
        weight = np.exp((worth - worth.max(axis=1, keepdims=True)) / _INDIFFERENCE)
        points[first : first + _BATCH] = (weight * candidates).sum(axis=1) / weight.sum(axis=1)
    return points
