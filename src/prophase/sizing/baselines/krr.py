"""KRR, Robusta's recommender: the highest use ever seen and 15 % more."""

from __future__ import annotations

from prophase.sizing.baselines.seen import MaximumSeen
from prophase.sizing.resources import SMALLEST_GIB
from prophase.sizing.sizer import Features


class KrrRule(MaximumSeen):
    """Ask for the highest peak so far and 15 % more, as KRR's simple strategy does."""

    margin = 1.15

    def predict(self, task: str, features: Features) -> float:
        return max(super().predict(task, features), SMALLEST_GIB)
