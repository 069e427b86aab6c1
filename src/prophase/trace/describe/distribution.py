"""The distribution of one column: moments, quantiles, histogram, and the curve to draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from prophase.trace.describe.column_arrays import Floats

#: name -> probability, from the least to the greatest
_PERCENTILES = ("01", "05", "10", "25", "50", "75", "90", "95", "99", "99.9")
QUANTILES: Mapping[str, float] = {
    "min": 0.0,
    **{f"p{text}": round(float(text) / 100, 3) for text in _PERCENTILES},
    "max": 1.0,
}
_CURVE = np.unique(np.r_[np.linspace(0.0, 1.0, 101), 0.001, 0.005, 0.995, 0.999])


@dataclass(frozen=True)
class Distribution:
    """How the values of one column spread; zeros count, missing values do not."""

    count: int
    missing: int
    zeros: int
    mean: float
    sd: float
    #: squared coefficient of variation: 1 for an exponential law, far above for heavy tails
    scv: float
    quantiles: Mapping[str, float]

    def at(self, name: str) -> float:
        """Return a quantile by name, such as ``p50``."""
        return self.quantiles[name]

    @property
    def row(self) -> dict[str, float]:
        """The columns in which every distribution is shown."""
        shown = {name: self.at(name) for name in ("p10", "p50", "p90", "p99", "max")}
        return {"known": self.count, "missing": self.missing, "mean": self.mean, **shown}


@dataclass(frozen=True)
class Curve:
    """A distribution function as points: this share of the values is at most that value."""

    shares: tuple[float, ...]
    values: tuple[float, ...]
    count: int


@dataclass(frozen=True)
class Histogram:
    """Counts between edges; zeros stand apart because the bins are equal on a log scale."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    zeros: int


def distribution_of(values: Floats) -> Distribution:
    """Return moments and quantiles of the values that are known.

    Examples
    --------
    >>> distribution_of(np.array([0.0, 2.0, 4.0, np.nan])).mean
    2.0
    """
    known = values[~np.isnan(values)]
    missing = int(values.size - known.size)
    if not known.size:
        nothing = float("nan")
        return Distribution(
            0, missing, 0, nothing, nothing, nothing, dict.fromkeys(QUANTILES, nothing)
        )
    at = np.quantile(known, list(QUANTILES.values()))
    mean, sd = float(known.mean()), float(known.std())
    return Distribution(
        count=int(known.size),
        missing=missing,
        zeros=int((known == 0).sum()),
        mean=mean,
        sd=sd,
        scv=(sd / mean) ** 2 if mean > 0 else float("nan"),
        quantiles=dict(zip(QUANTILES, at.tolist(), strict=True)),
    )


def curve_of(values: Floats) -> Curve:
    """Return the distribution function of the known values at about a hundred shares."""
    known = values[~np.isnan(values)]
    if not known.size:
        return Curve((), (), 0)
    at = np.quantile(known, _CURVE)
    return Curve(tuple(_CURVE.tolist()), tuple(at.tolist()), int(known.size))


def log_histogram(values: Floats, *, bins_per_decade: int = 8) -> Histogram:
    """Count the positive values in bins of equal width on a log scale."""
    known = values[~np.isnan(values)]
    positive = known[known > 0]
    zeros = int((known == 0).sum())
    if not positive.size:
        return Histogram((), (), zeros)
    low, high = np.log10(positive.min()), np.log10(positive.max())
    first = np.floor(low * bins_per_decade)
    last = max(np.ceil(high * bins_per_decade), first + 1)
    # a trace of nonsense values could ask for any number of bins
    places = np.linspace(first, last, int(min(last - first, 400)) + 1)
    edges = 10.0 ** (places / bins_per_decade)
    edges[0], edges[-1] = min(edges[0], positive.min()), max(edges[-1], positive.max())
    counts, _ = np.histogram(positive, edges)
    return Histogram(tuple(edges.tolist()), tuple(int(n) for n in counts), zeros)
