"""How a metric moves inside a phase: a level, a memory of the samples before, and a spread."""

from __future__ import annotations

import numpy as np

from prophase.trace.series.block_products import summed_products
from prophase.trace.series.usage_series import Floats

#: variance of what a phase does not predict is at least this share of the metric's whole variance
_FLOOR = 1e-3


def variance_floor(design: Floats) -> Floats:
    """Return the least variance per metric; without one, a constant stretch explains everything."""
    return np.asarray(np.maximum(_FLOOR * design[:, :, 0].var(axis=0), 1e-9))


def with_lags(values: Floats, order: int) -> Floats:
    """Return (n - p, m, 2 + p): the sample, a one, then the samples before, the latest first."""
    n = max(len(values) - order, 0)
    found = np.empty((n, values.shape[1], 2 + order))
    found[:, :, 0] = values[order:]
    found[:, :, 1] = 1.0
    for lag in range(1, order + 1):
        found[:, :, 1 + lag] = values[order - lag : order - lag + n]
    return found


def log_density(design: Floats, weights: Floats, variance: Floats) -> Floats:
    """Return log p(sample | history, state), summed over metrics, (n, k)."""
    total = np.zeros((len(design), len(weights)))
    for metric in range(design.shape[1]):
        error = design[:, metric, :1] - design[:, metric, 1:] @ weights[:, metric].T
        total -= 0.5 * (error**2 / variance[:, metric] + np.log(2 * np.pi * variance[:, metric]))
    return total


def moments_of(design: Floats) -> Floats:
    """Return the products of sample and regressors with each other, (n, m * (2 + p)^2)."""
    products = design[:, :, :, None] * design[:, :, None, :]
    return products.reshape(len(design), -1)


def fitted_motion(
    moments: Floats, beliefs: tuple[Floats, Floats], floor: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what fits each state's samples best: weights, variance, level and spread.

    Level and spread come from all samples of a state, the prediction from those whose state was
    there before.
    """
    metrics = len(floor)
    size = round((moments.shape[1] / metrics) ** 0.5)
    inside, remained = (
        summed_products(one, moments).reshape(-1, metrics, size, size) for one in beliefs
    )
    mass = np.maximum(inside[..., 1, 1], 1e-9)
    level = inside[..., 1, 0] / mass
    spread = np.maximum(inside[..., 0, 0] / mass - level**2, floor)
    gram, cross, square = remained[..., 1:, 1:], remained[..., 1:, 0], remained[..., 0, 0]
    mass = np.maximum(gram[..., 0, 0], 1e-9)
    # a faint pull towards 0 keeps constant metrics solvable
    ridge = np.eye(size - 1) * 1e-6
    ridge[0, 0] = 0.0
    solved = gram + mass[..., None, None] * ridge + 1e-12 * np.eye(size - 1)
    weights = np.linalg.solve(solved, cross[..., None])[..., 0]
    left = square - 2 * (weights * cross).sum(-1)
    left = left + np.einsum("kmi,kmij,kmj->km", weights, gram, weights)
    return np.asarray(weights, float), np.maximum(left / mass, floor), level, spread
