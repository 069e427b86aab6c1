"""How far two labellings agree, and which of several explains a series best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prophase.array_types import Bools
from prophase.trace.series.autoregression import (
    fitted_motion,
    log_density,
    moments_of,
    variance_floor,
    with_lags,
)
from prophase.trace.series.usage_series import Floats, Ints


def adjusted_rand_index(one: Ints, other: Ints) -> float:
    """Return how far two labellings agree, whatever the labels are called: 1 fully, 0 by chance.

    Examples
    --------
    >>> adjusted_rand_index(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3]))
    1.0
    """
    table = np.zeros((int(one.max()) + 2, int(other.max()) + 2))
    np.add.at(table, (one + 1, other + 1), 1.0)

    def pairs(counts: Floats) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, rows, columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = rows * columns / max(pairs(np.array([float(len(one))])), 1.0)
    most = (rows + columns) / 2
    return 1.0 if most == expected else float((both - expected) / (most - expected))


# Which labels explain a series best? One yardstick for every labeller.
#
# A set of labels is worth what it saves when series are written down: bits for the labels
# themselves (changes are dear), bits for the samples given their phases' level and movement, and
# bits for the parameters (minimum description length; the same trade as BIC). More phases than
# there are save less than they cost, and so do labels that flicker.


#: samples before one that predict it: two see a swing, which with one would be two phases
_ORDER = 2


def description_bits(stretches: Sequence[Floats], labels: Sequence[Ints]) -> float:
    """Return the bits per sample that series take with these labels; less is better.

    Samples without a label are left out. Absolute values mean nothing, differences do.

    Parameters
    ----------
    stretches : sequence of arrays (n, metrics)
        Scaled values.
    labels : sequence of arrays (n,)
        Phase of each sample, below 0 for none.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> phase = np.repeat([0, 1, 0, 1], 50)
    >>> values = (phase + rng.normal(0, 0.1, 200))[:, None]
    >>> right = description_bits([values], [phase])
    >>> right < description_bits([values], [np.zeros(200, int)])
    True
    >>> right < description_bits([values], [rng.integers(0, 2, 200)])
    True
    """
    design, now, before, staying_on = _pairs(stretches, labels)
    if len(design) == 0:
        return float("nan")
    count = int(max(now.max(), before.max())) + 1
    inside = np.zeros((len(design), count))
    inside[np.arange(len(design)), now] = 1.0
    remained = inside * staying_on[:, None]
    weights, variance, level, spread = fitted_motion(
        moments_of(design), (inside, remained), variance_floor(design)
    )
    staying = log_density(design, weights, variance)[np.arange(len(design)), now]
    entering = log_density(design[:, :, :2], level[:, :, None], spread)
    entering = entering[np.arange(len(design)), now]
    samples = np.where(staying_on, staying, entering).sum()
    moves = np.zeros((count, count))
    np.add.at(moves, (before, now), 1.0)
    rates = (moves + 0.5) / (moves + 0.5).sum(axis=1, keepdims=True)
    changes = (moves * np.log(rates)).sum()
    used = int((inside.sum(axis=0) > 0).sum())
    # of all moves only those that happen are written down
    parameters = int((moves > 0).sum()) + used * design.shape[1] * (2 + _ORDER + 2)
    whole = -(samples + changes) + 0.5 * parameters * np.log(len(design))
    return float(whole / len(design) / np.log(2))


def _pairs(stretches: Sequence[Floats], labels: Sequence[Ints]) -> tuple[Floats, Ints, Ints, Bools]:
    """Return samples with their history, their phase, the one before, and whether all are one.

    What came before a phase says nothing about it, so a sample is predicted from its history only
    if all of that is of its phase.
    """
    designs, now, before, same = [], [], [], []
    for values, phase in zip(stretches, labels, strict=True):
        if len(phase) <= _ORDER:
            continue
        last = phase[_ORDER - 1 : -1]
        kept = (phase[_ORDER:] >= 0) & (last >= 0)
        designs.append(with_lags(values, _ORDER)[kept])
        now.append(phase[_ORDER:][kept])
        before.append(last[kept])
        one = np.ones(len(last), dtype=bool)
        for lag in range(1, _ORDER + 1):
            one &= phase[_ORDER - lag : len(phase) - lag] == phase[_ORDER:]
        same.append(one[kept])
    if not designs:
        none = np.zeros(0, dtype=np.int64)
        return np.zeros((0, 1, 2 + _ORDER)), none, none, none.astype(bool)
    return (
        np.concatenate(designs),
        np.concatenate(now).astype(np.int64),
        np.concatenate(before).astype(np.int64),
        np.concatenate(same),
    )
