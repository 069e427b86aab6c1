"""The default: three forests make one distribution, and a decision picks the point.

One forest learns the outcome itself, two learn how far it lies from what the keys say
(shrunk medians; the median of the last five). Together they know both that a recurring job
repeats itself and what to expect when it does not. The distribution is often two-humped,
a job that fails at once or runs to its end, and its mean or median may then be a value
that hardly ever happens. The point is the one that is most often within a factor of two
of the outcome, with a price on large misses.
"""

from __future__ import annotations

import numpy as np

from prophase.profile.predict.answer import Answer
from prophase.profile.predict.decision import best_points
from prophase.profile.predict.features import features, recent_backoff, shrunk
from prophase.profile.predict.history import Question
from prophase.profile.predict.lessons import lessons
from prophase.profile.predict.memory import Floats, Recall
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.trees import LeafForest

#: quantiles that stand for the distribution
_QUANTILES = (np.arange(49) + 0.5) / 49
#: jobs answered at once; bounds the memory
_BATCH = 4_000


class Mixture(Predictor):
    """Forests of outcomes and of distances to the keys' medians, as one distribution."""

    name = "mixture"

    def _learn(self, question: Question, values: Floats) -> None:
        asked, answers = lessons(question, values, self.random_state)
        recall = self.history_.recall(asked)
        seen = features(asked, recall)
        self.variance_ = max(float(np.var(values)), 1e-6)
        self.forests_ = [
            LeafForest(random_state=self.random_state + number).fit(seen, answers - base)
            for number, base in enumerate(_bases(recall))
        ]

    def _answer(self, question: Question, recall: list[Recall]) -> Answer:
        if not hasattr(self, "forests_"):
            return Answer.of_point(np.full(len(question), np.nan))
        seen, bases = features(question, recall), _bases(recall)
        parts = []
        for first in range(0, len(question), _BATCH):
            rows = slice(first, first + _BATCH)
            outcomes = np.concatenate(
                [
                    forest.outcomes(seen[rows]) + base[rows, None]
                    for forest, base in zip(self.forests_, bases, strict=True)
                ],
                axis=1,
            )
            outcomes.sort(axis=1)
            steps = outcomes[:, (_QUANTILES * outcomes.shape[1]).astype(int)]
            parts.append((best_points(steps, self.variance_), *_ends(outcomes)))
        if not parts:
            return Answer.of_point(np.empty(0))
        point, low, high = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Answer(point, low, high)


def _bases(recall: list[Recall]) -> tuple[Floats, Floats, Floats]:
    """Return what each forest's outcomes are measured from."""
    pulled, recent = shrunk(recall), recent_backoff(recall)
    return np.zeros(len(pulled)), np.nan_to_num(pulled), np.nan_to_num(recent)


def _ends(outcomes: Floats) -> tuple[Floats, Floats]:
    held = outcomes.shape[1]
    return outcomes[:, int(0.05 * held)], outcomes[:, int(0.95 * held)]
