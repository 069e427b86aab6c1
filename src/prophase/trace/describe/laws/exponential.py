"""Exponential: no memory at all. The baseline, and the M of M/M/c."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from prophase.trace.describe.laws.law import Law
from prophase.trace.describe.part import Floats


@dataclass(frozen=True)
class Exponential(Law):
    """Share above x is exp(-x / mean)."""

    mean_s: float
    name: ClassVar[str] = "exponential"
    words: ClassVar[str] = "no memory; the law queueing formulas like best"

    @classmethod
    def fit(cls, values: Floats, start: Self | None = None) -> Self:
        return cls(float(values.mean()))

    def log_density(self, values: Floats) -> Floats:
        return np.asarray(-values / self.mean_s - np.log(self.mean_s))

    def share_below(self, values: Floats) -> Floats:
        return -np.expm1(-values / self.mean_s)

    def quantile(self, shares: Floats) -> Floats:
        return -np.log1p(-shares) * self.mean_s

    @property
    def mean(self) -> float:
        return self.mean_s
