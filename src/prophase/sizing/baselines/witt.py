"""Witt et al.: a line in the size of the input, and an offset that keeps most tasks below it.

"Feedback-based resource allocation for batch scheduling of scientific workflows" (HPCS 2019)
adds the standard deviation or the highest error of past predictions; "Learning low-wastage
memory allocations for scientific workflows at IceCube" chooses the line itself by the memory
that past tasks would have wasted. Without the size of the input the line is flat.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from prophase.sizing.sizer import Features, OnlineSizer, known_number, request_or_plenty

Floats = NDArray[np.float64]

_FEWEST = 2
_REMEMBERED = 1_000
#: slopes tried by the low-wastage line, in slopes of least squares
_SLOPES = (0.0, 0.5, 0.8, 1.0, 1.2, 1.5)


class _Line(OnlineSizer):
    """A line per task; the offset is what the methods differ in."""

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk)
        #: input, peak, run time of every success
        self.runs_: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
        self._lines: dict[str, tuple[float, float]] = {}

    def predict(self, task: str, features: Features) -> float:
        runs = self.runs_.get(task)
        if not runs or len(runs) < _FEWEST:
            return request_or_plenty(features)
        if task not in self._lines:
            inputs, peaks, hours = np.array(runs[-_REMEMBERED:]).T
            self._lines[task] = self._fit(inputs, peaks, hours)
        slope, level = self._lines[task]
        size = known_number(features, "input_gib") or 0.0
        lowest = min(peak for _, peak, _ in runs)
        return max(level + slope * size, lowest)

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        if not failed:
            size = known_number(features, "input_gib") or 0.0
            self.runs_[task].append((size, peak_gib, max(runtime_h, 1e-6)))
            self._lines.pop(task, None)

    @abstractmethod
    def _fit(self, inputs: Floats, peaks: Floats, hours: Floats) -> tuple[float, float]:
        """Return slope and level, offset included."""


class WittStandardDeviation(_Line):
    """Ask for the line and one standard deviation of its errors more."""

    def _fit(self, inputs: Floats, peaks: Floats, hours: Floats) -> tuple[float, float]:
        slope, level = _least_squares(inputs, peaks)
        return slope, level + float(np.std(peaks - slope * inputs - level))


class WittMaximumError(_Line):
    """Ask for the line and its highest error so far more."""

    def _fit(self, inputs: Floats, peaks: Floats, hours: Floats) -> tuple[float, float]:
        slope, level = _least_squares(inputs, peaks)
        return slope, level + float(np.max(peaks - slope * inputs - level))


class WittWastage(_Line):
    """Ask for the line under which past tasks would have wasted least."""

    def _fit(self, inputs: Floats, peaks: Floats, hours: Floats) -> tuple[float, float]:
        slope, _ = _least_squares(inputs, peaks)
        best = (np.inf, 0.0, float(peaks.max()))
        for factor in _SLOPES if slope else (0.0,):
            rest = peaks - factor * slope * inputs
            for level in np.unique(np.quantile(rest, np.linspace(0.5, 1.0, 26))):
                asked = np.maximum(level + factor * slope * inputs, 1e-6)
                # a killed task loses its allocation and gets twice as much
                wasted = np.where(asked >= peaks - 1e-12, asked - peaks, 3 * asked - peaks)
                cost = float(np.maximum(wasted, 0.0) @ hours)
                if cost < best[0]:
                    best = (cost, factor * slope, float(level))
        return best[1], best[2]


def _least_squares(inputs: Floats, peaks: Floats) -> tuple[float, float]:
    offset = inputs - inputs.mean()
    spread = float(offset @ offset)
    if spread <= 1e-12 * (1.0 + float(inputs @ inputs)):
        return 0.0, float(peaks.mean())
    slope = float(offset @ peaks) / spread
    return slope, float(peaks.mean() - slope * inputs.mean())
