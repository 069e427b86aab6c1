"""Targets that are true or false, such as ``status=oom``: probabilities by boosted trees.

The range around it bounds the share of jobs that turned out true among earlier ones that had
got about the same answer, with 90 % confidence.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.array_types import Array, Bools, Floats
from prophase.profile.predict.leaf_forest import matrix, xgboost
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.stats import wilson_ends

#: standard deviations to either side that hold 90 % of a normal distribution
_REACH = 1.645
#: earlier answers next to an answer that are looked at
_NEIGHBOURS = 200
#: jobs that share the same earlier answers when going through time
_STRIDE = 500


class ShareCalibrator:
    """Remembers which answers came true, and bounds new answers by it."""

    def __init__(self) -> None:
        self._end = np.empty(0)
        self._told = np.empty(0)
        self._true = np.empty(0)

    def learn(
        self,
        answer: PointAndRange,
        values: Floats,
        stratum: NDArray[np.str_],
        stale: Bools,
        end: Floats,
    ) -> None:
        """Remember answers and what came true, known from ``end`` on."""
        valid = np.isfinite(answer.point)
        ends = np.concatenate([self._end, end[valid]])
        order = np.argsort(ends, kind="stable")
        self._end = ends[order]
        self._told = np.concatenate([self._told, answer.point[valid]])[order]
        self._true = np.concatenate([self._true, values[valid]])[order]

    def widen(
        self,
        answer: PointAndRange,
        stratum: NDArray[np.str_],
        stale: Bools,
        as_of: Floats,
    ) -> tuple[Floats, Floats]:
        """Return the bounds of the probabilities; 0 and 1 where nothing is known."""
        low, high = np.zeros(len(as_of)), np.ones(len(as_of))
        order = np.argsort(as_of, kind="stable")
        for first in range(0, len(order), _STRIDE):
            rows = order[first : first + _STRIDE]
            held = int(np.searchsorted(self._end, as_of[rows[0]], side="left"))
            if held:
                low[rows], high[rows] = self._bounds(answer.point[rows], held)
        return np.minimum(low, answer.point), np.maximum(high, answer.point)

    def _bounds(self, point: Floats, held: int) -> tuple[Floats, Floats]:
        """Return Wilson's interval of the share of true ones among the nearest answers."""
        order = np.argsort(self._told[:held], kind="stable")
        predicted, sums = self._told[order], np.concatenate([[0.0], np.cumsum(self._true[order])])
        near = min(_NEIGHBOURS, held)
        start = np.clip(np.searchsorted(predicted, point) - near // 2, 0, held - near)
        share = (sums[start + near] - sums[start]) / near
        return wilson_ends(share, near, _REACH)


def yes_no_measures(truth: Floats, predicted: Floats) -> dict[str, object]:
    """Return how good probabilities were.

    ``roc_auc`` is the chance that a job that turned out true had got the higher answer;
    ``balanced_accuracy_pct`` calls an answer true from one half on; ``brier`` is the mean
    squared distance from the truth (0 is perfect, smaller is better).

    Examples
    --------
    >>> found = yes_no_measures(np.array([0.0, 0.0, 1.0]), np.array([0.1, 0.6, 0.9]))
    >>> found["roc_auc"], found["balanced_accuracy_pct"]
    (1.0, 75.0)
    """
    yes, no = predicted[truth > 0.5], predicted[truth <= 0.5]
    if len(yes) == 0 or len(no) == 0:
        auc = balanced = float("nan")
    else:
        ranks = pd.Series(np.concatenate([no, yes])).rank().to_numpy()[len(no) :]
        auc = float((ranks.sum() - len(yes) * (len(yes) + 1) / 2) / (len(yes) * len(no)))
        balanced = 50 * float((yes >= 0.5).mean() + (no < 0.5).mean())
    return {
        "yes_pct": 100 * float((truth > 0.5).mean()) if len(truth) else float("nan"),
        "roc_auc": auc,
        "balanced_accuracy_pct": balanced,
        "brier": float(((predicted - truth) ** 2).mean()) if len(truth) else float("nan"),
    }


_ROUNDS = 100
_SETTINGS: dict[str, object] = {
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

    def fit(self, seen: Array, truths: Floats) -> Self:
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
