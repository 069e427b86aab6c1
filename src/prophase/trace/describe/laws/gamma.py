"""Gamma: sums of exponential steps (shape > 1), or bursts (shape < 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import digamma, gammainc, gammaincinv, gammaln, polygamma

from prophase.trace.describe.laws.law import FitError, Law, logs_of
from prophase.trace.describe.part import Floats


@dataclass(frozen=True)
class Gamma(Law):
    """Density x^(shape - 1) exp(-x / scale), scaled to one."""

    scale_s: float
    shape: float
    name: ClassVar[str] = "gamma"
    words: ClassVar[str] = "sums of exponential steps"

    @classmethod
    def fit(cls, values: Floats, start: Self | None = None) -> Self:
        logs, _ = logs_of(values)
        mean = float(values.mean())
        gap = math.log(mean) - float(logs.mean())
        if not (math.isfinite(gap) and gap > 0):
            raise FitError("the likelihood has no maximum that can be computed")
        # a good first guess (Minka 2002), then Newton on log(shape) - digamma(shape) = gap
        shape = (3 - gap + math.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
        for _ in range(50):
            error = math.log(shape) - float(digamma(shape)) - gap
            slope = 1 / shape - float(polygamma(1, shape))
            shape, before = max(shape - error / slope, shape / 4), shape
            if abs(shape - before) < 1e-10 * before:
                break
        return cls(mean / shape, shape)

    def log_density(self, values: Floats) -> Floats:
        constant = gammaln(self.shape) + self.shape * math.log(self.scale_s)
        return np.asarray((self.shape - 1) * np.log(values) - values / self.scale_s - constant)

    def share_below(self, values: Floats) -> Floats:
        return np.asarray(gammainc(self.shape, values / self.scale_s))

    def quantile(self, shares: Floats) -> Floats:
        return np.asarray(self.scale_s * gammaincinv(self.shape, shares))

    def sample(self, count: int, random: np.random.Generator) -> Floats:
        # tiny shapes draw exact zeros, which are not in the law
        drawn = random.gamma(self.shape, self.scale_s, count)
        return np.maximum(drawn, np.finfo(float).tiny)

    @property
    def mean(self) -> float:
        return self.scale_s * self.shape
