"""As back-off medians, of the last few jobs of a key only: follows a change at once."""

from __future__ import annotations

from prophase.profile.predict.answer import Answer
from prophase.profile.predict.features import recent_backoff
from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import RECENT, Recall
from prophase.profile.predict.predictor import Predictor


class RecentMedian(Predictor):
    """Answer with the median of the latest 16 finished jobs of the finest key that was seen."""

    name = "recent-median"

    def _answer(self, question: Question, recall: list[Recall]) -> Answer:
        return Answer.of_point(recent_backoff(recall, RECENT))
