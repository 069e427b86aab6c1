"""Bring metrics of different units to one scale before distances are taken.

The four transforms of the paper's Table III work per column; those that its notebooks also
try (``maxabs`` per column; ``l1``, ``l2``, ``max`` and ``softmax`` per row) are here as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.array_types import Floats
from prophase.errors import ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.profile.clusters import library
from prophase.profile.clusters.usage_metrics import UsageFeatures

#: Table III of the paper, in its order
PAPER_TRANSFORMS = ("standard", "minmax", "robust", "power")
PER_ROW = ("l1", "l2", "max", "softmax")
TRANSFORMS = (*PAPER_TRANSFORMS, "maxabs", *PER_ROW)
#: words of the authors' result files
ALIASES = {
    "standard_scaler": "standard",
    "minmax_scaler": "minmax",
    "robust_scaler": "robust",
    "yeo-johnson": "power",
    "maxabs_scaler": "maxabs",
}


@dataclass(frozen=True)
class Transform:
    """A learned transform: Yeo-Johnson if there are exponents, then (value - centre) / scale."""

    name: str
    centre: Floats
    scale: Floats
    #: exponents of ``power``; empty for all others
    lambdas: Floats

    def __call__(self, values: Floats) -> Floats:
        """Return the values, (rows, columns), on the learned scale."""
        if self.name in PER_ROW:
            return _per_row(self.name, values)
        shaped = _yeo_johnson(values, self.lambdas) if self.lambdas.size else values
        # C order: the trees of neighbours are several times slower on the other one
        return np.ascontiguousarray((shaped - self.centre) / self.scale)

    def to_arrays(self) -> dict[str, Floats]:
        """Return what a model file keeps."""
        return {"centre": self.centre, "scale": self.scale, "lambdas": self.lambdas}


def fit_transform(name: str, values: Floats) -> Transform:
    """Learn a transform from values, (rows, columns); a constant column becomes 0.

    Examples
    --------
    >>> learned = fit_transform("minmax", np.array([[0.0], [5.0], [10.0]]))
    >>> learned(np.array([[2.5]]))
    array([[0.25]])
    """
    name = ALIASES.get(name, name)
    if name not in TRANSFORMS:
        raise ParameterError(not_among(f"transform {name!r} is unknown.", name, TRANSFORMS))
    none = np.empty(0)
    width = values.shape[1]
    if name in PER_ROW:
        return Transform(name, np.zeros(width), np.ones(width), none)
    if name == "power":
        return _fit_power(values)
    centre, scale = _centre_and_scale(name, values)
    return Transform(name, centre, _without_zeros(scale), none)


def transform_histograms(
    features: UsageFeatures, transform: Transform, bins: int = 30
) -> pd.DataFrame:
    """Return counts per bin of every metric before and after a transform.

    Examples
    --------
    >>> features = UsageFeatures(("duration_s",), np.array([[1.0], [2.0], [9.0]]), {}, ())
    >>> learned = fit_transform("standard", features.values)
    >>> transform_histograms(features, learned, bins=2)[["when", "jobs"]].values.tolist()
    [['before', 2], ['before', 1], ['after', 2], ['after', 1]]
    """
    tables = []
    for number, metric in enumerate(features.columns):
        for when, values in (("before", features.values), ("after", transform(features.values))):
            counts, edges = np.histogram(values[:, number], bins=bins)
            rows: JsonObject = {
                "metric": metric,
                "when": when,
                "low": edges[:-1],
                "high": edges[1:],
                "jobs": counts,
            }
            tables.append(pd.DataFrame(rows))
    return pd.concat(tables, ignore_index=True)


def _centre_and_scale(name: str, values: Floats) -> tuple[Floats, Floats]:
    if name == "standard":
        return values.mean(axis=0), values.std(axis=0)
    if name == "minmax":
        return values.min(axis=0), np.ptp(values, axis=0)
    if name == "maxabs":
        return np.zeros(values.shape[1]), np.abs(values).max(axis=0)
    low, middle, high = np.percentile(values, [25, 50, 75], axis=0)
    return middle, high - low


def _fit_power(values: Floats) -> Transform:
    lambdas = np.ones(values.shape[1])
    varying = np.ptp(values, axis=0) > 0
    if varying.any():
        learner = library("sklearn.preprocessing").PowerTransformer(standardize=False)
        lambdas[varying] = learner.fit(values[:, varying]).lambdas_
    shaped = _yeo_johnson(values, lambdas)
    return Transform("power", shaped.mean(axis=0), _without_zeros(shaped.std(axis=0)), lambdas)


def _yeo_johnson(values: Floats, lambdas: Floats) -> Floats:
    """Yeo and Johnson (2000), equation 2.1."""
    shaped = np.empty_like(values)
    for number, power in enumerate(lambdas):
        column = values[:, number]
        above, below = np.maximum(column, 0.0), np.maximum(-column, 0.0)
        shaped[:, number] = _box_cox(above, power) - _box_cox(below, 2.0 - power)
    return shaped


def _box_cox(amounts: Floats, power: float) -> Floats:
    grown = np.log1p(amounts)
    return grown if abs(power) < 1e-12 else np.expm1(power * grown) / power


def _without_zeros(scale: Floats) -> Floats:
    """A column that never changes is divided by one."""
    return np.where(scale > 10 * np.finfo(np.float64).eps, scale, 1.0)


def _per_row(name: str, values: Floats) -> Floats:
    if name == "softmax":
        grown = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(grown / grown.sum(axis=1, keepdims=True))
    sizes = {
        "l1": lambda rows: np.abs(rows).sum(axis=1),
        "l2": lambda rows: np.sqrt((rows**2).sum(axis=1)),
        "max": lambda rows: np.abs(rows).max(axis=1),
    }[name](values)
    return np.asarray(values / np.where(sizes > 0, sizes, 1.0)[:, None])
