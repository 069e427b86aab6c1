"""Quantile forest: the outcomes in the leaves a job falls into are its distribution."""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.answer import Answer
from prophase.profile.predict.features import features
from prophase.profile.predict.history import Question
from prophase.profile.predict.lessons import lessons
from prophase.profile.predict.memory import Floats, Recall
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.trees import FEWEST, YES_NO_FEWEST, LeafForest, matrix


class Forest(Predictor):
    """A forest on remembered keys and requests; answers with its quantiles."""

    name = "forest"

    def _learn(self, question: Question, values: Floats) -> None:
        asked, answers = lessons(question, values, self.random_state)
        seen = features(asked, self.history_.recall(asked))
        fewest = YES_NO_FEWEST if self.yes_no_ else FEWEST
        forest = LeafForest(fewest=fewest, random_state=self.random_state)
        self.forest_ = forest.fit(seen, answers)

    def _answer(self, question: Question, recall: list[Recall]) -> Answer:
        if not hasattr(self, "forest_"):
            return Answer.of_point(np.full(len(question), np.nan))
        outcomes = np.sort(self.forest_.outcomes(matrix(features(question, recall))), axis=1)
        low, point, high = (outcomes[:, int(q * outcomes.shape[1])] for q in (0.05, 0.5, 0.95))
        return Answer(outcomes.mean(axis=1) if self.yes_no_ else point, low, high)
