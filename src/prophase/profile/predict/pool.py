"""Several opinions made one distribution: each counts as much as it has deserved.

An *opinion* is a set of equally likely outcomes per job, in logarithms. Its weight comes from
how likely it made the outcomes of jobs it had not learnt from (a linear pool, fitted by
expectation maximisation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from prophase.profile.predict.memory import Floats, Ints

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
