"""The first runs of a task: what the other tasks of a workflow say about requests.

A task nobody has seen gets its request, unless tasks with requests of similar size show that
requests in this workflow are far above use: then a lower first rung saves on average.
"""

from __future__ import annotations

import math

import numpy as np

from prophase.sizing.least_waste.ladder import Outlook
from prophase.sizing.least_waste.settings import LeastWasteSettings

#: without evidence, use is anywhere in the upper part of the request
_ANYWHERE = np.linspace(0.3, 1.0, 20)
#: a first rung is at least this share of the request: use that grows from there is common
_LOWEST_RUNG = 0.7
#: run time from which a task's word counts fully, in hours
_FULL_WORD_H = 0.05
_MARGIN = 1.05


class ColdStart:
    """Use over request of every task of a workflow."""

    def __init__(self) -> None:
        #: task -> highest use / request, hours, instances, log2 of the request
        self.tasks: dict[str, list[float]] = {}

    def add(self, task: str, peak: float, hours: float, request: float) -> None:
        """Remember one instance with a request."""
        held = self.tasks.setdefault(task, [0.0, 0.0, 0.0, 0.0])
        held[0] = max(held[0], min(1.0, _MARGIN * peak / request))
        held[1] += hours
        held[2] += 1.0
        held[3] = math.log2(request)

    def ask(self, request: float, settings: LeastWasteSettings, above: float = 0.0) -> list[float]:
        """Return the ladder of a task without history."""
        outlook, mean = self.outlook(request, settings, above)
        if not len(outlook):
            return [request]
        rungs, waste = outlook.ladder()
        if waste > (1.0 - settings.cold_worth) * (request - mean):
            return [request]
        return [max(rungs[0], _LOWEST_RUNG * request), request]

    def outlook(
        self, request: float, settings: LeastWasteSettings, above: float = 0.0
    ) -> tuple[Outlook, float]:
        """Return what the first peak may be, and its mean."""
        values, weights = _ANYWHERE, np.full(len(_ANYWHERE), settings.cold_tasks / len(_ANYWHERE))
        if self.tasks:
            table = np.array(list(self.tasks.values()))
            distance = table[:, 3] - math.log2(request)
            word = np.exp(-0.5 * distance**2) * np.minimum(
                1.0, table[:, 1] / table[:, 2] / _FULL_WORD_H
            )
            values = np.concatenate([values, table[:, 0]])
            weights = np.concatenate([weights, word])
        mean = request * float(values @ weights) / float(weights.sum())
        return Outlook(values * request, weights, most=request, above=above), mean
