"""Tovar et al., "A job sizing strategy for high-throughput scientific workflows" (TPDS 2018).

The first allocation minimises the expected waste over all peaks seen, weighted by run time,
if a killed task is given the highest peak seen at its second attempt.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from prophase.sizing.sizer import GROWTH, Features, OnlineSizer, request_of, request_or_plenty

_REMEMBERED = 2_000


class Tovar(OnlineSizer):
    """Ask for what wastes least on average if the highest peak follows a kill."""

    def __init__(self, risk: float | None = None) -> None:
        super().__init__(risk)
        self.runs_: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        self._answers: dict[str, float] = {}

    def predict(self, task: str, features: Features) -> float:
        runs = self.runs_.get(task)
        if not runs:
            return request_or_plenty(features)
        if task not in self._answers:
            self._answers[task] = _least_waste(np.array(runs[-_REMEMBERED:]))
        return self._answers[task]

    def observe(
        self, task: str, features: Features, peak_gib: float, runtime_h: float, failed: bool
    ) -> None:
        if not failed:
            self.runs_[task].append((peak_gib, max(runtime_h, 1e-6)))
            self._answers.pop(task, None)

    def retry(self, task: str, features: Features, attempt: int, last_gib: float) -> float:
        highest = max((peak for peak, _ in self.runs_.get(task, ())), default=0.0)
        if highest > last_gib:
            return highest
        request = request_of(features)
        return request if request is not None and request > last_gib else GROWTH * last_gib


def _least_waste(runs: np.ndarray) -> float:
    order = runs[:, 0].argsort()
    peaks, hours = runs[order, 0], runs[order, 1]
    held = hours.cumsum() / hours.sum()
    cost = peaks + peaks[-1] * (1.0 - held)
    return float(peaks[int(cost.argmin())])
