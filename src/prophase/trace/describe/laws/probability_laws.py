"""Laws of positive values: something fitted that knows density, share and quantile."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammainc, gammaincinv, gammaln, ndtr, ndtri, polygamma

from prophase.trace.describe.column_arrays import Floats


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
