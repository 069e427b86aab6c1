"""Lognormal: the logarithm is normal. Many small effects multiplied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import ndtr, ndtri

from prophase.trace.describe.laws.law import Law, logs_of
from prophase.trace.describe.part import Floats


@dataclass(frozen=True)
class Lognormal(Law):
    """log(x) is normal around log(median) with standard deviation sigma."""

    median_s: float
    sigma: float
    name: ClassVar[str] = "lognormal"
    words: ClassVar[str] = "the logarithm is normal"

    @classmethod
    def fit(cls, values: Floats, start: Self | None = None) -> Self:
        logs, spread = logs_of(values)
        return cls(float(np.exp(logs.mean())), spread)

    def log_density(self, values: Floats) -> Floats:
        logs = np.log(values)
        z = (logs - np.log(self.median_s)) / self.sigma
        return np.asarray(-0.5 * z**2 - logs - np.log(self.sigma * np.sqrt(2 * np.pi)))

    def share_below(self, values: Floats) -> Floats:
        share: Floats = ndtr((np.log(values) - np.log(self.median_s)) / self.sigma)
        return share

    def quantile(self, shares: Floats) -> Floats:
        return np.asarray(self.median_s * np.exp(self.sigma * ndtri(shares)), dtype=np.float64)

    @property
    def mean(self) -> float:
        return float(self.median_s * np.exp(self.sigma**2 / 2))
