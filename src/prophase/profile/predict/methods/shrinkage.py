"""Medians of all key levels at once: each level is pulled towards the next coarser one."""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.answer import Answer
from prophase.profile.predict.features import shrunk
from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.predictor import Predictor


class Shrinkage(Predictor):
    """Answer with hierarchically shrunk logarithms; the range follows the key's own spread."""

    name = "shrinkage"

    def _answer(self, question: Question, recall: list[Recall]) -> Answer:
        point = shrunk(recall)
        spread = np.full(len(question), np.nan)
        for part in reversed(recall):
            weight = np.minimum(part.count, 8)
            own = np.nan_to_num(part.spread())
            parent = np.where(np.isnan(spread), own, spread)
            mixed = (weight * own + 2.0 * parent) / (weight + 2.0)
            spread = np.where(part.count > 0, mixed, spread)
        reach = 1.645 * np.maximum(np.nan_to_num(spread), 0.05)
        return Answer(point, point - reach, point + reach)
