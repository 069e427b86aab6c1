"""Every classifier by name, and one of ours: a line through logarithms with a tuned margin.

A classifier cannot name a bin that no run it learned from was in, and the heaviest bins have
runs of two or three scenarios only. A line can: the logarithm of a run's need above the least
one grows evenly with the logarithms of what drives it. The margin above it, in deviations of
its errors, is tuned on u_score like any other setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from prophase.errors import ParameterError, not_among
from prophase.modelfile import Parts
from prophase.sizing.bins.classifiers import (
    BoostedTrees,
    Classifier,
    Runs,
    Sampling,
    SupportVectors,
)
from prophase.trace.describe.column_arrays import Floats, Ints

#: share of the least peak that every run needs, whatever drives it
_BASE = 0.9
#: errors of the heaviest share of runs show how far off the line is where it matters
_HEAVY_SHARE = 0.2


class CautiousLine(Classifier):
    """The bin of a line's estimate plus a margin.

    ``margin`` is in deviations of the line's errors, ``ridge`` the strength of its shrinkage,
    ``heavy`` the power of a run's peak that becomes its weight.
    """

    name = "cautious"
    space: ClassVar[Mapping[str, tuple[float, float, bool, bool]]] = {
        # few scenarios are heavy, so validation alone would at times choose a margin far wider
        "margin": (0.5, 1.5, False, False),
        "ridge": (0.1, 10.0, True, False),
        "heavy": (0.0, 1.0, False, False),
    }

    @classmethod
    def searched(cls, sampling: Sampling) -> dict[str, tuple[float, float, bool, bool]]:
        if sampling != "none":
            raise ParameterError(
                f"the classifier {cls.name} learns from peaks and cannot use over-sampled runs. "
                'Leave sampling at "none".'
            )
        return dict(cls.space)

    def fit(self, seen: Floats, classes: Ints, runs: Runs | None = None) -> Self:
        """Lay the line through the logarithms of what runs needed above the least."""
        if runs is None:
            raise ParameterError(f"the classifier {self.name} needs the peaks of the runs.")
        peak = np.maximum(runs.peak_gib, 1e-6)
        self.known = np.arange(len(runs.binning))
        self.edges = np.asarray(runs.binning.edges_gib)
        self.base = _BASE * float(peak.min())
        target = np.log(peak - self.base)
        weight = peak ** self.settings.get("heavy", 0.5)
        weight /= weight.mean()
        self.centre = np.average(seen, axis=0, weights=weight)
        middle = float(np.average(target, weights=weight))
        apart = seen - self.centre
        size = seen.shape[1]
        gram = (apart * weight[:, None]).T @ apart
        self.slopes = np.linalg.solve(
            gram + self.settings.get("ridge", 1.0) * np.eye(size),
            (apart * weight[:, None]).T @ (target - middle),
        )
        self.middle = middle
        heavy = np.argsort(-peak)[: max(3, round(_HEAVY_SHARE * len(peak)))]
        errors = target - self._line(seen)
        self.deviation = float(np.sqrt((errors[heavy] ** 2).mean()))
        return self

    def predict(self, seen: Floats) -> Ints:
        need = self.estimate(seen, self.settings.get("margin", 1.0))
        found = np.searchsorted(self.edges, need)
        return np.minimum(found, len(self.edges) - 1).astype(np.int64)

    def estimate(self, seen: Floats, margin: float = 0.0) -> Floats:
        """Return the need of each run in GiB, with a margin in deviations."""
        # no estimate is needed far beyond the largest bin, and exp would overflow there
        above = np.minimum(self._line(seen) + margin * self.deviation, 50.0)
        return np.asarray(self.base + np.exp(above))

    def _line(self, seen: Floats) -> Floats:
        return np.asarray(self.middle + (seen - self.centre) @ self.slopes)

    def _fit(self, seen: Floats, codes: Ints) -> None:
        raise AssertionError("fit does all")

    def _predict(self, seen: Floats) -> Ints:
        raise AssertionError("predict does all")

    def _parts(self) -> Parts:
        return Parts(
            arrays={
                "edges": self.edges,
                "centre": self.centre,
                "slopes": self.slopes,
                "numbers": np.array([self.base, self.middle, self.deviation]),
            }
        )

    def _restore(self, parts: Parts) -> None:
        held = parts.arrays
        self.edges, self.centre, self.slopes = held["edges"], held["centre"], held["slopes"]
        self.base, self.middle, self.deviation = (float(one) for one in held["numbers"])


CLASSIFIERS: dict[str, type[Classifier]] = {
    one.name: one for one in (BoostedTrees, SupportVectors, CautiousLine)
}
#: those of the thesis
PUBLISHED = ("xgboost", "svm")


def classifier_named(name: str) -> type[Classifier]:
    """Return a classifier by name, or say which there are."""
    if name not in CLASSIFIERS:
        raise ParameterError(not_among(f"classifier {name!r} is unknown.", name, CLASSIFIERS))
    return CLASSIFIERS[name]
