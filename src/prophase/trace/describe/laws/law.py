"""What a law of positive values is: something fitted that knows density, share and quantile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar, Self

import numpy as np

from prophase.trace.describe.part import Floats


class FitError(ValueError):
    """The values do not determine this law."""


@dataclass(frozen=True)
class Law(ABC):
    """A fitted law; its fields are its parameters."""

    name: ClassVar[str]
    #: what it says about the values, for people
    words: ClassVar[str]

    @classmethod
    @abstractmethod
    def fit(cls, values: Floats, start: Self | None = None) -> Self:
        """Return the law of highest likelihood; ``start`` is a guess from similar values."""

    @abstractmethod
    def log_density(self, values: Floats) -> Floats: ...

    @abstractmethod
    def share_below(self, values: Floats) -> Floats: ...

    @abstractmethod
    def quantile(self, shares: Floats) -> Floats: ...

    @property
    @abstractmethod
    def mean(self) -> float: ...

    @property
    def size(self) -> int:
        """Number of free parameters."""
        return len(self.parameters)

    @property
    def parameters(self) -> dict[str, float]:
        return {name: float(value) for name, value in asdict(self).items()}

    def sample(self, count: int, random: np.random.Generator) -> Floats:
        """Draw values; by inversion unless a law knows better."""
        return self.quantile(random.random(count))

    def aic(self, values: Floats) -> float:
        return float(2 * self.size - 2 * self.log_density(values).sum())


def logs_of(values: Floats) -> tuple[Floats, float]:
    """Return the logarithms and their spread, refusing values that are all the same."""
    logs = np.log(values)
    spread = float(logs.std())
    if not np.isfinite(spread) or spread < 1e-9:
        raise FitError("all values are the same")
    return logs, spread
