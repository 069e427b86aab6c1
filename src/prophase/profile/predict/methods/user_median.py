"""The median of the user's finished jobs, else of all."""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.answer import Answer
from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.predictor import Predictor


class UserMedian(Predictor):
    """Answer with the median of the same user; where users are unknown, of the same group."""

    name = "user-median"

    def _answer(self, question: Question, recall: list[Recall]) -> Answer:
        point, _ = self.history_.medians(len(recall) - 1, question)
        for column in ("user", "group"):
            level = self.history_.level_of(column)
            if level is not None:
                middle, _ = self.history_.medians(level, question)
                point = np.where(np.isnan(middle), point, middle)
                break
        return Answer.of_point(point)
