"""Hyper-exponential: a mixture of short and long exponential jobs, found by EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from prophase.trace.describe.column_arrays import Floats
from prophase.trace.describe.laws.probability_laws import FitError, Law

_STEPS, _STEPS_FROM_A_START = 300, 40


class _Mixture(Law):
    """What mixtures of any number of phases share."""

    phases: ClassVar[int]

    @property
    def _weights(self) -> Floats:
        known = [v for k, v in self.parameters.items() if k.startswith("share_")]
        return np.array([*known, 1 - sum(known)])

    @property
    def _means(self) -> Floats:
        return np.array([v for k, v in self.parameters.items() if k.startswith("mean_")])

    @classmethod
    def fit(cls, values: Floats, start: Self | None = None) -> Self:
        if start is None:
            weights = np.full(cls.phases, 1 / cls.phases)
            parts = np.array_split(np.sort(values), cls.phases)
            means = np.array([part.mean() for part in parts])
        else:
            weights, means = start._weights, start._means
        weights, means = _em(values, weights, means, _STEPS_FROM_A_START if start else _STEPS)
        order = np.argsort(means)
        weights, means = weights[order], means[order]
        return cls(*weights[:-1].tolist(), *means.tolist())

    def log_density(self, values: Floats) -> Floats:
        scaled = np.multiply.outer(values, 1 / self._means)
        peak = -scaled.min(axis=1)
        mixed = (self._weights / self._means * np.exp(-scaled - peak[:, None])).sum(axis=1)
        return np.asarray(peak + np.log(mixed))

    def share_below(self, values: Floats) -> Floats:
        above = np.exp(-np.multiply.outer(values, 1 / self._means)) @ self._weights
        return np.asarray(1 - above)

    def quantile(self, shares: Floats) -> Floats:
        """Invert by bisection: the slowest phase alone bounds the answer from above."""
        low = np.zeros_like(shares)
        high = np.full_like(shares, self._means.max()) * (1 - np.log1p(-np.minimum(shares, 1)))
        for _ in range(100):
            middle = (low + high) / 2
            below = self.share_below(middle) < shares
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(shares >= 1, np.inf, (low + high) / 2)

    def sample(self, count: int, random: np.random.Generator) -> Floats:
        phase = random.choice(self.phases, size=count, p=self._weights / self._weights.sum())
        return random.exponential(self._means[phase])

    @property
    def mean(self) -> float:
        return float(self._weights @ self._means)


def _em(values: Floats, weights: Floats, means: Floats, steps: int) -> tuple[Floats, Floats]:
    """Climb the likelihood; stop when a step no longer moves the means."""
    grouped, copies = _grouped(values)
    # one row per phase: sums over two or three neighbours in memory take many times longer
    for _ in range(steps):
        logs = np.log(weights / means)[:, None] - grouped / means[:, None]
        logs -= logs.max(axis=0)
        belongs = np.exp(logs, out=logs)
        belongs *= copies / belongs.sum(axis=0)
        mass = belongs.sum(axis=1)
        if not np.all(np.isfinite(mass)) or mass.min() < 1e-3:
            raise FitError("one phase is enough: the mixture collapses")
        before, means = means, (belongs * grouped).sum(axis=1) / mass
        weights = mass / len(values)
        if np.all(np.abs(means - before) < 1e-5 * before):
            break
    if means.min() <= 0 or not np.all(np.isfinite(means)):
        raise FitError("the likelihood has no maximum that can be computed")
    return weights, means


def _grouped(values: Floats) -> tuple[Floats, Floats]:
    """Merge values within 0.2 % of each other: many times faster, the means stay exact."""
    if len(values) < 5000:
        return values, np.ones(len(values))
    _, group, copies = np.unique(
        np.round(np.log(values) / 0.002), return_inverse=True, return_counts=True
    )
    return np.bincount(group, weights=values) / copies, copies.astype(np.float64)


@dataclass(frozen=True)
class Hyperexponential2(_Mixture):
    """A share of the values is exponential around one mean, the rest around another."""

    share_1: float
    mean_1_s: float
    mean_2_s: float
    name: ClassVar[str] = "hyper-exponential (2)"
    words: ClassVar[str] = "a mixture of two exponentials"
    phases: ClassVar[int] = 2


@dataclass(frozen=True)
class Hyperexponential3(_Mixture):
    """Three exponential kinds of values in fixed shares."""

    share_1: float
    share_2: float
    mean_1_s: float
    mean_2_s: float
    mean_3_s: float
    name: ClassVar[str] = "hyper-exponential (3)"
    words: ClassVar[str] = "a mixture of three exponentials"
    phases: ClassVar[int] = 3
