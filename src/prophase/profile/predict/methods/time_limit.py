"""What the user asked for: the time limit of the job."""

from __future__ import annotations

import numpy as np

from prophase.errors import ParameterError
from prophase.profile.predict.answer import Answer
from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.predictor import Predictor


class TimeLimit(Predictor):
    """Answer with the job's own time limit; silent where it has none."""

    name = "time-limit"

    def _answer(self, question: Question, recall: list[Recall]) -> Answer:
        if self.target_ != "duration_s":
            raise ParameterError(
                f"time-limit answers how long a job runs, not {self.target_}. "
                "Choose another method for this target."
            )
        limit = question.limit_s
        known = np.isfinite(limit) & (limit > 0)
        point = np.log(np.maximum(np.where(known, limit, 1.0), self.floor_))
        return Answer.of_point(np.where(known, point, np.nan))

    def _why_silent(self) -> str:
        return "the job has no time limit"
