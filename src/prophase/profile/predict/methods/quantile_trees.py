"""Quantile gradient boosting and quantile forests on a job's keys and its request."""

from __future__ import annotations

import numpy as np

from prophase.array_types import Floats
from prophase.profile.predict.history import Question
from prophase.profile.predict.leaf_forest import FEWEST, YES_NO_FEWEST, LeafForest, matrix, xgboost
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.training_features import features, lessons

_ROUNDS = 100
_SETTINGS: dict[str, object] = {
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
        asked, answers = next(lessons(question, values, self.random_state))
        seen = features(asked, self.history_.recall(asked))
        settings = {**_SETTINGS, "seed": self.random_state, "nthread": 1}
        self.booster_ = xgboost().train(settings, matrix(seen, answers), _ROUNDS)

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        if not hasattr(self, "booster_"):
            return PointAndRange.of_point(np.full(len(question), np.nan))
        found = self.booster_.predict(matrix(features(question, recall)))
        low, point, high = np.sort(found.reshape(len(question), 3).astype(np.float64), axis=1).T
        return PointAndRange(point, low, high)


class Forest(Predictor):
    """A forest on remembered keys and requests; answers with its quantiles."""

    name = "forest"

    def _learn(self, question: Question, values: Floats) -> None:
        asked, answers = next(lessons(question, values, self.random_state))
        seen = features(asked, self.history_.recall(asked))
        fewest = YES_NO_FEWEST if self.yes_no_ else FEWEST
        forest = LeafForest(fewest=fewest, random_state=self.random_state)
        self.forest_ = forest.fit(seen, answers)

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        if not hasattr(self, "forest_"):
            return PointAndRange.of_point(np.full(len(question), np.nan))
        outcomes = np.sort(self.forest_.outcomes(matrix(features(question, recall))), axis=1)
        low, point, high = (outcomes[:, int(q * outcomes.shape[1])] for q in (0.05, 0.5, 0.95))
        return PointAndRange(outcomes.mean(axis=1) if self.yes_no_ else point, low, high)
