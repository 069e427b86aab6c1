"""A sizer in the manner of Sizey (Bader et al., IEEE CLUSTER 2024).

Several models predict the peak. Each has a score of accuracy and efficiency from its past
predictions; the models are mixed by these scores, and an offset is added: of several kinds
of spread the one that would have wasted least so far. Our models are those that learn in
microseconds (mean, line, power law, nearest neighbours); Sizey's own also train networks and
forests, with grids of settings, after every task.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from prophase.sizing.sizer import (
    GROWTH,
    Features,
    OnlineSizer,
    known_number,
    request_of,
    request_or_plenty,
)

Floats = NDArray[np.float64]

_FEWEST = 3
_REMEMBERED = 500
#: how much accuracy counts against efficiency, and how sharply good models are preferred
_ACCURACY, _SHARPNESS = 0.5, 10.0
_NEIGHBOURS = 3


class SizeyLike(OnlineSizer):
    """Ask for a scored mixture of models and the offset that wasted least."""

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk)
        #: input and peak of every success
        self.runs_: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        #: what each model predicted of every success
        self.foretold_: defaultdict[str, list[Floats]] = defaultdict(list)

    def predict(self, task: str, features: Features) -> float:
        runs = self.runs_.get(task)
        if not runs or len(runs) < _FEWEST:
            return request_or_plenty(features)
        models = _models(np.array(runs[-_REMEMBERED:]), _size(features))
        past = np.array(self.foretold_[task][-_REMEMBERED:])
        if not len(past):
            return float(models.max()) * 1.1
        peaks = np.array(runs[-len(past) :])[:, 1]
        mix = _mix(past, peaks)
        return max(float(models @ mix) + _offset(past @ mix, peaks), 1e-3)

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        if failed:
            return
        runs = self.runs_[task]
        if len(runs) >= _FEWEST:
            self.foretold_[task].append(_models(np.array(runs[-_REMEMBERED:]), _size(features)))
        runs.append((_size(features), peak_gib))

    def retry(self, task: str, features: Features, attempt: int, last_gib: float) -> float:
        highest = max((peak for _, peak in self.runs_.get(task, ())), default=0.0)
        if highest > last_gib:
            return highest
        request = request_of(features)
        doubled = GROWTH * last_gib
        return min(doubled, request) if request is not None and request > last_gib else doubled


def _size(features: Features) -> float:
    return known_number(features, "input_gib") or 0.0


def _models(runs: Floats, size: float) -> Floats:
    """Return what the mean, the line, the power law and the neighbours predict."""
    inputs, peaks = runs[:, 0], runs[:, 1]
    mean = float(peaks.mean())
    line = _at(inputs, peaks, size)
    power = float(np.exp(_at(np.log(inputs + 1e-6), np.log(peaks), np.log(size + 1e-6))))
    few = min(_NEIGHBOURS, len(inputs))
    nearest = np.abs(inputs - size).argpartition(few - 1)[:few]
    found = np.array([mean, line, power, float(peaks[nearest].mean())])
    kept: Floats = np.clip(found, 0.5 * peaks.min(), 4.0 * peaks.max())
    return kept


def _at(x: Floats, y: Floats, at: float) -> float:
    offset = x - x.mean()
    spread = float(offset @ offset)
    if spread <= 1e-12 * (1.0 + float(x @ x)):
        return float(y.mean())
    return float(y.mean() + float(offset @ y) / spread * (at - x.mean()))


def _mix(past: Floats, peaks: Floats) -> Floats:
    error = np.abs(past - peaks[:, None])
    accuracy = 1.0 - np.minimum(error / peaks[:, None], 1.0).mean(axis=0)
    efficiency = 1.0 - past.mean(axis=0) / max(float(past.max()), 1e-9)
    score = _ACCURACY * accuracy + (1.0 - _ACCURACY) * efficiency
    mix = np.exp(_SHARPNESS * (score - score.max()))
    shares: Floats = mix / mix.sum()
    return shares


def _offset(predicted: Floats, peaks: Floats) -> float:
    """Return the spread that would have wasted least had it been added."""
    error = peaks - predicted
    under = error[error > 0]
    kinds = [
        float(error.std()),
        float(np.median(np.abs(error))),
        float(under.std()) if len(under) else 0.0,
        float(np.median(under)) if len(under) else 0.0,
        float(under.max()) if len(under) else 0.0,
    ]
    asked = predicted[:, None] + np.array(kinds)
    short = asked < peaks[:, None]
    wasted = np.where(short, asked + np.maximum(peaks.max() - peaks, 0)[:, None],
                      asked - peaks[:, None])  # fmt: skip
    return kinds[int(wasted.sum(axis=0).argmin())]
