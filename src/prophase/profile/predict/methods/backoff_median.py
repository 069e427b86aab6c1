"""Medians over keys, from the finest to the coarsest: the first that has any row answers."""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.answer import Answer
from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.predictor import Predictor


class BackoffMedian(Predictor):
    """Answer with the median over all finished jobs of the finest key that was seen."""

    name = "backoff-median"

    def _answer(self, question: Question, recall: list[Recall]) -> Answer:
        point = np.full(len(question), np.nan)
        for level in range(len(recall)):
            open_rows = np.flatnonzero(np.isnan(point) & (recall[level].count > 0))
            if len(open_rows):
                point[open_rows], _ = self.history_.medians(level, question.rows(open_rows))
        return Answer.of_point(point)
