"""Pareto laws: the tail falls by a power. Type I starts at a least value, Lomax at zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar

from prophase.trace.describe.laws.law import FitError, Law, logs_of
from prophase.trace.describe.part import Floats


@dataclass(frozen=True)
class Pareto(Law):
    """Share above x is (least / x)^tail, from the least value on."""

    least_s: float
    tail: float
    name: ClassVar[str] = "Pareto"
    words: ClassVar[str] = "a power law from the least value on"

    @classmethod
    def fit(cls, values: Floats, start: Self | None = None) -> Self:
        logs, _ = logs_of(values)
        least = float(values.min())
        return cls(least, float(1 / (logs - math.log(least)).mean()))

    def log_density(self, values: Floats) -> Floats:
        constant = math.log(self.tail) + self.tail * math.log(self.least_s)
        return np.asarray(constant - (self.tail + 1) * np.log(values))

    def share_below(self, values: Floats) -> Floats:
        ratio = np.log(np.maximum(values, self.least_s)) - math.log(self.least_s)
        return -np.expm1(-self.tail * ratio)

    def quantile(self, shares: Floats) -> Floats:
        return np.asarray(self.least_s * np.exp(-np.log1p(-shares) / self.tail))

    @property
    def mean(self) -> float:
        return self.tail * self.least_s / (self.tail - 1) if self.tail > 1 else math.inf


@dataclass(frozen=True)
class Lomax(Law):
    """Share above x is (1 + x / scale)^-tail: a Pareto law that starts at zero."""

    scale_s: float
    tail: float
    name: ClassVar[str] = "Pareto II (Lomax)"
    words: ClassVar[str] = "a power law that starts at zero"

    @classmethod
    def fit(cls, values: Floats, start: Self | None = None) -> Self:
        logs, _ = logs_of(values)
        centre = float(np.median(logs))

        def cost(log_scale: float) -> float:
            # the best tail for a scale is known, which leaves one dimension
            growth = float(np.log1p(np.exp(logs - log_scale)).mean())
            return log_scale + growth + math.log(growth) + 1

        around = math.log(start.scale_s) if start else centre
        width = 2.0 if start else 12.0
        found = minimize_scalar(cost, bounds=(around - width, around + width), method="bounded")
        growth = float(np.log1p(np.exp(logs - found.x)).mean())
        if not (math.isfinite(found.fun) and growth > 0):
            raise FitError("the likelihood has no maximum that can be computed")
        return cls(math.exp(found.x), 1 / growth)

    def log_density(self, values: Floats) -> Floats:
        return np.asarray(
            math.log(self.tail / self.scale_s) - (self.tail + 1) * np.log1p(values / self.scale_s)
        )

    def share_below(self, values: Floats) -> Floats:
        return -np.expm1(-self.tail * np.log1p(values / self.scale_s))

    def quantile(self, shares: Floats) -> Floats:
        return np.asarray(self.scale_s * np.expm1(-np.log1p(-shares) / self.tail))

    @property
    def mean(self) -> float:
        return self.scale_s / (self.tail - 1) if self.tail > 1 else math.inf
