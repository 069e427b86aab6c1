"""The median of all finished jobs, whatever the job."""

from __future__ import annotations

from prophase.profile.predict.answer import Answer
from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.predictor import Predictor


class GlobalMedian(Predictor):
    """Answer every job with the median of all finished ones."""

    name = "global-median"

    def _answer(self, question: Question, recall: list[Recall]) -> Answer:
        middle, _ = self.history_.medians(len(recall) - 1, question)
        return Answer.of_point(middle)
