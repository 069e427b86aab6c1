"""Boosted trees for a target that is true or false: how likely is it true?"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from prophase.profile.predict.memory import Floats
from prophase.profile.predict.trees import matrix, xgboost

_ROUNDS = 100
_SETTINGS: dict[str, Any] = {
    "objective": "binary:logistic",
    "max_depth": 3,
    "eta": 0.15,
    "subsample": 0.7,
    "colsample_bytree": 0.6,
    "min_child_weight": 3,
    "tree_method": "hist",
    "nthread": 1,
}
#: the share that trees start from is neither none nor all, even if every lesson says so
_LEAST_SHARE = 1e-3


class BoostedChance:
    """Learns a probability, and answers with outcomes of which as many are true."""

    def __init__(self, *, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, seen: NDArray[Any], truths: Floats) -> Self:
        """Learn from what was seen of jobs and whether it came true."""
        share = float(np.clip(truths.mean(), _LEAST_SHARE, 1 - _LEAST_SHARE))
        settings = {**_SETTINGS, "base_score": share, "seed": self.random_state}
        self.booster_ = xgboost().train(settings, matrix(seen, truths), _ROUNDS)
        return self

    def outcomes(self, data: Any, count: int) -> Floats:
        """Return ``count`` equally likely outcomes, 0 or 1, of each row of a matrix."""
        chance = np.asarray(self.booster_.predict(data), dtype=np.float64)
        places = (np.arange(count) + 0.5) / count
        return (places[None, :] >= 1 - chance[:, None]).astype(np.float64)
