"""Quantile gradient boosting on what is remembered of a job's keys and on its request."""

from __future__ import annotations

from typing import Any

import numpy as np

from prophase.profile.predict.answer import Answer
from prophase.profile.predict.features import features
from prophase.profile.predict.history import Question
from prophase.profile.predict.lessons import lessons
from prophase.profile.predict.memory import Floats, Recall
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.trees import matrix, xgboost

_ROUNDS = 100
_SETTINGS: dict[str, Any] = {
    "objective": "reg:quantileerror",
    "quantile_alpha": np.array([0.05, 0.5, 0.95]),
    "max_depth": 5,
    "eta": 0.1,
    "subsample": 0.7,
    "colsample_bytree": 0.5,
    "min_child_weight": 10,
    "tree_method": "hist",
}


class Boosting(Predictor):
    """Boosted trees for the 5 %, 50 % and 95 % quantiles of the logarithm."""

    name = "boosting"

    def _learn(self, question: Question, values: Floats) -> None:
        asked, answers = lessons(question, values, self.random_state)
        seen = features(asked, self.history_.recall(asked))
        settings = {**_SETTINGS, "seed": self.random_state, "nthread": 1}
        self.booster_ = xgboost().train(settings, matrix(seen, answers), _ROUNDS)

    def _answer(self, question: Question, recall: list[Recall]) -> Answer:
        if not hasattr(self, "booster_"):
            return Answer.of_point(np.full(len(question), np.nan))
        found = self.booster_.predict(matrix(features(question, recall)))
        low, point, high = np.sort(found.reshape(len(question), 3).astype(np.float64), axis=1).T
        return Answer(point, low, high)
