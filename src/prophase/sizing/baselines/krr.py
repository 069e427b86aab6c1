"""KRR, Robusta's recommender: the highest use ever seen and 15 % more."""

from __future__ import annotations

from prophase.sizing.baselines.seen import MaximumSeen
from prophase.sizing.sizer import Features

#: KRR advises no less than 100 MB
FLOOR_GIB = 100e6 / 2**30


class KrrRule(MaximumSeen):
    """Ask for the highest peak so far and 15 % more, as KRR's simple strategy does."""

    margin = 1.15

    def predict(self, task: str, features: Features) -> float:
        return max(super().predict(task, features), FLOOR_GIB)
