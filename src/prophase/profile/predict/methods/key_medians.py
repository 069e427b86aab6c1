"""Medians by key: of the last few jobs only, or each level pulled towards the next coarser one."""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import RECENT, Recall
from prophase.profile.predict.point_and_range import PointAndRange
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.training_features import recent_backoff, shrunk


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
