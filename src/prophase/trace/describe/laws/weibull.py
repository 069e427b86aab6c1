"""Weibull: a stretched (shape < 1) or sharpened (shape > 1) exponential."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from prophase.trace.describe.laws.law import FitError, Law, logs_of
from prophase.trace.describe.part import Floats


@dataclass(frozen=True)
class Weibull(Law):
    """Share above x is exp(-(x / scale)^shape)."""

    scale_s: float
    shape: float
    name: ClassVar[str] = "Weibull"
    words: ClassVar[str] = "a stretched exponential"

    @classmethod
    def fit(cls, values: Floats, start: Self | None = None) -> Self:
        logs, spread = logs_of(values)
        centre, highest = logs.mean(), logs.max()
        # for log-Weibull values the spread is pi / sqrt(6) / shape
        shape = math.pi / math.sqrt(6) / spread
        for _ in range(100):
            # weights relative to the largest value, so that no power overflows
            weights = np.exp(shape * (logs - highest))
            total = weights.sum()
            first = (weights * logs).sum() / total
            second = (weights * logs**2).sum() / total
            error = first - 1 / shape - centre
            slope = second - first**2 + 1 / shape**2
            shape, before = max(shape - error / slope, shape / 4), shape
            if abs(shape - before) < 1e-10 * before:
                break
        scale = math.exp(highest + math.log(np.exp(shape * (logs - highest)).mean()) / shape)
        if not (math.isfinite(scale) and scale > 0 and math.isfinite(shape)):
            raise FitError("the likelihood has no maximum that can be computed")
        return cls(scale, float(shape))

    def log_density(self, values: Floats) -> Floats:
        z = np.log(values) - math.log(self.scale_s)
        return np.asarray(
            math.log(self.shape) + self.shape * z - np.log(values) - np.exp(self.shape * z)
        )

    def share_below(self, values: Floats) -> Floats:
        return -np.expm1(-np.exp(self.shape * (np.log(values) - math.log(self.scale_s))))

    def quantile(self, shares: Floats) -> Floats:
        return np.asarray(self.scale_s * (-np.log1p(-shares)) ** (1 / self.shape))

    @property
    def mean(self) -> float:
        try:
            return self.scale_s * math.gamma(1 + 1 / self.shape)
        except OverflowError:
            return math.inf
