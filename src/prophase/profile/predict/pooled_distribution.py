"""Several opinions made one distribution, weighted by merit, and the one number picked from it.

An *opinion* is a set of equally likely outcomes per job, in logarithms. Its weight comes from
how likely it made the outcomes of jobs it had not trained on (a linear pool, fitted by
expectation maximisation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from prophase.array_types import Floats, Ints

#: how many outcomes stand for the pooled distribution
POOLED = 240
#: width that makes outcomes a density, in standard deviations of the target
_BANDWIDTH = 0.15
#: an outcome nobody expected is not held against an opinion more than this
_LEAST_DENSITY = 1e-3
_ROUNDS = 60

#: makes this many equally likely outcomes per job
Opinion = Callable[[int], Floats]


def densities(outcomes: Floats, values: Floats, variance: float) -> Floats:
    """Return how likely equally likely ``outcomes`` make the ``values``, a row each."""
    away = (outcomes - values[:, None]) / (_BANDWIDTH * np.sqrt(variance))
    return np.asarray(np.maximum(np.exp(-0.5 * away**2).mean(axis=1), _LEAST_DENSITY))


def learn_weights(likely: Floats, prior: Floats, prior_jobs: float = 20.0) -> Floats:
    """Return the weights of opinions (columns) under which the outcomes (rows) are likeliest.

    The weights chosen beforehand, ``prior``, count as much as ``prior_jobs`` outcomes.

    Examples
    --------
    >>> likely = np.array([[0.9, 0.1]] * 500)
    >>> learn_weights(likely, np.array([0.5, 0.5])).round(2)
    array([0.98, 0.02])
    """
    weights = prior
    for _ in range(_ROUNDS):
        share = likely * weights
        share /= share.sum(axis=1, keepdims=True)
        weights = share.sum(axis=0) + prior_jobs * prior
        weights = weights / weights.sum()
    return weights


def pooled(opinions: Mapping[str, Opinion], weights: Mapping[str, float]) -> Floats:
    """Return :data:`POOLED` outcomes per job in order of size, each opinion with its share."""
    shares = np.array([weights[name] for name in opinions])
    # whole numbers that add up, by the largest remainders
    exact = shares / shares.sum() * POOLED
    counts = np.floor(exact).astype(int)
    missing = POOLED - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    parts = [
        opinion(int(count))
        for opinion, count in zip(opinions.values(), counts, strict=True)
        if count
    ]
    return np.sort(np.concatenate(parts, axis=1), axis=1)


def evenly(ordered: Floats, held: Ints, count: int) -> Floats:
    """Return ``count`` of the first ``held`` values of each row, spread evenly."""
    place = ((np.arange(count)[None, :] + 0.5) * (held[:, None] / count)).astype(np.int64)
    return np.take_along_axis(ordered, place, axis=1)


#: distances from the outcome, in logarithms, within which an answer is useful. How long a job
#: runs is useful to know within a factor of two; what it uses often repeats nearly exactly
FACTOR_TWO = (float(np.log(2.0)),)
EXACT_TOO = (0.2, float(np.log(2.0)))
NEARLY_EXACT = (0.05, 0.1, 0.2, float(np.log(2.0)))
#: what a squared miss of the size of the target's variance costs, in shares of useful answers
_PRICE = {FACTOR_TWO: 0.5, EXACT_TOO: 0.4, NEARLY_EXACT: 0.2}
#: answers nearly as good as the best are averaged, which steadies the choice
_INDIFFERENCE = 0.02
#: in logarithms, how far the outcomes around a nearly exact answer lie from it at most
_AROUND = 0.2
_BATCH = 500


def best_points(steps: Floats, variance: float, *useful: tuple[float, ...]) -> Floats:
    """Return the best answers for each row of equally likely outcomes, a column per purpose.

    Parameters
    ----------
    steps : array, shape (jobs, outcomes)
        Equally likely outcomes of each job, in logarithms, in order of size.
    variance : float
        Of the target's logarithm over all jobs: the scale of a large miss.
    *useful : tuple
        :data:`FACTOR_TWO`, :data:`EXACT_TOO` or :data:`NEARLY_EXACT`.

    Examples
    --------
    Two humps: the larger one is named, not the emptiness between them.

    >>> steps = np.array([[0.0] * 14 + [5.0] * 6])
    >>> best_points(steps, 25.0, FACTOR_TWO).round(2)
    array([[0.]])
    """
    points = np.empty((len(steps), len(useful)))
    every = NEARLY_EXACT in useful
    for first in range(0, len(steps), _BATCH):
        rows = steps[first : first + _BATCH].astype(np.float32)
        candidates = rows if every else rows[:, ::2]
        apart = np.abs(candidates[:, :, None] - rows[:, None, :])
        far = (apart**2).mean(axis=2) / variance
        # soft edges: 1.2 times the distance counts nothing, 0.8 times it counts fully
        shares = {
            reach: np.clip((1.2 * reach - apart) / (0.4 * reach), 0.0, 1.0).mean(axis=2)
            for reach in sorted(set().union(*useful))
        }
        for place, purpose in enumerate(useful):
            near = sum(shares[reach] for reach in purpose) / len(purpose)
            worth = near - _PRICE[purpose] * far
            weight = np.exp((worth - worth.max(axis=1, keepdims=True)) / _INDIFFERENCE)
            best = (weight * candidates).sum(axis=1) / weight.sum(axis=1)
            points[first : first + _BATCH, place] = best
    for place in (place for place, purpose in enumerate(useful) if purpose == NEARLY_EXACT):
        points[:, place] = _settled(steps, points[:, place])
    return points


def _settled(steps: Floats, points: Floats) -> Floats:
    """Return the middle of the outcomes around each point: what it uses often repeats exactly."""
    begin = (steps < points[:, None] - _AROUND).sum(axis=1)
    last = np.maximum((steps <= points[:, None] + _AROUND).sum(axis=1) - 1, 0)
    rows = np.arange(len(points))
    middle = 0.5 * (steps[rows, (begin + last) // 2] + steps[rows, (begin + last + 1) // 2])
    return np.where(begin <= last, middle, points)
