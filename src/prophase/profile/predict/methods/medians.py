"""Medians that need no learning (of all jobs, of the user, by key), and the user's time limit."""

from __future__ import annotations

import numpy as np

from prophase.errors import ParameterError
from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import RECENT, Recall
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.training_features import recent_backoff, shrunk


class GlobalMedian(Predictor):
    """Answer every job with the median of all finished ones."""

    name = "global-median"

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        middle, _ = self.history_.medians(len(recall) - 1, question)
        return PointAndRange.of_point(middle)


class UserMedian(Predictor):
    """Answer with the median of the same user; where users are unknown, of the same group."""

    name = "user-median"

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        point, _ = self.history_.medians(len(recall) - 1, question)
        for column in ("user", "group"):
            level = self.history_.level_of(column)
            if level is not None:
                middle, _ = self.history_.medians(level, question)
                point = np.where(np.isnan(middle), point, middle)
                break
        return PointAndRange.of_point(point)


class TimeLimit(Predictor):
    """Answer with the job's own time limit; silent where it has none."""

    name = "time-limit"

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        if self.target_ != "duration_s":
            raise ParameterError(
                f"time-limit answers how long a job runs, not {self.target_}. "
                "Choose another method for this target."
            )
        limit = question.limit_s
        known = np.isfinite(limit) & (limit > 0)
        point = np.log(np.maximum(np.where(known, limit, 1.0), self.floor_))
        return PointAndRange.of_point(np.where(known, point, np.nan))

    def _why_silent(self) -> str:
        return "the job has no time limit"


class BackoffMedian(Predictor):
    """Answer with the median over all finished jobs of the finest key that was seen."""

    name = "backoff-median"

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        return PointAndRange.of_point(self.history_.backed_off(question, recall))


class RecentMedian(Predictor):
    """Answer with the median of the latest 16 finished jobs of the finest key that was seen."""

    name = "recent-median"

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        return PointAndRange.of_point(recent_backoff(recall, RECENT))


class Shrinkage(Predictor):
    """Answer with hierarchically shrunk logarithms; the range follows the key's own spread."""

    name = "shrinkage"

    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        point = shrunk(recall)
        spread = np.full(len(question), np.nan)
        for part in reversed(recall):
            weight = np.minimum(part.count, 8)
            own = np.nan_to_num(part.spread())
            parent = np.where(np.isnan(spread), own, spread)
            mixed = (weight * own + 2.0 * parent) / (weight + 2.0)
            spread = np.where(part.count > 0, mixed, spread)
        reach = 1.645 * np.maximum(np.nan_to_num(spread), 0.05)
        return PointAndRange(point, point - reach, point + reach)
