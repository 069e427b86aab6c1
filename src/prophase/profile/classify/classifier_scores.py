"""How well profiles were predicted: accuracy and F1, per profile, and who was taken for whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.json_types import JsonObject
from prophase.profile.classify.methods.method import Ints
from prophase.profile.classify.profile_labels import Label


@dataclass(frozen=True)
class ClassifierScores:
    """Scores of one classifier on jobs it has not trained on.

    Classes without a job on either side of a comparison do not count in ``macro_f1``.
    """

    jobs: int
    accuracy: float
    weighted_f1: float
    macro_f1: float
    #: one row per profile: precision, recall, f1 and support, the form of the paper's Table V
    per_class: pd.DataFrame
    #: true profile by row, answered profile by column, in jobs
    confusion: pd.DataFrame
    #: profiles that jobs had and no answer named
    never_predicted: tuple[Label, ...]
    #: profiles that jobs had and no job learned from
    never_learnt: tuple[Label, ...]

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        return {
            "jobs": self.jobs,
            "accuracy": self.accuracy,
            "weighted_f1": self.weighted_f1,
            "macro_f1": self.macro_f1,
            "per_class": self.per_class.to_dict("records"),
            "confusion": {
                "profiles": list(self.confusion.index),
                "jobs": self.confusion.to_numpy().tolist(),
            },
            "never_predicted": list(self.never_predicted),
            "never_learnt": list(self.never_learnt),
        }


def score(truth: Ints, answer: Ints, classes: tuple[Label, ...], learned: Ints) -> ClassifierScores:
    """Compare answers with the truth, both as numbers of ``classes``.

    Parameters
    ----------
    learned : array
        Numbers of the profiles that were learned from.

    Examples
    --------
    >>> found = score(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 2]), (7, 8, 9), np.arange(3))
    >>> found.accuracy, found.never_predicted
    (0.75, (8,))
    >>> found.per_class["recall"].tolist()
    [1.0, 0.0, 1.0]
    """
    width = len(classes)
    matrix = np.zeros((width, width), dtype=np.int64)
    np.add.at(matrix, (truth, answer), 1)
    right = np.diag(matrix).astype(np.float64)
    support, named = matrix.sum(axis=1), matrix.sum(axis=0)
    precision = np.divide(right, named, out=np.zeros(width), where=named > 0)
    recall = np.divide(right, support, out=np.zeros(width), where=support > 0)
    both = precision + recall
    f1 = np.divide(2 * precision * recall, both, out=np.zeros(width), where=both > 0)
    used = (support > 0) | (named > 0)
    table = pd.DataFrame(
        {
            "profile": list(classes),
            "precision": precision,
            "recall": recall,
            "f1": f1,
            "support": support,
            "predicted": named,
        }
    )[used]
    jobs = int(support.sum())
    return ClassifierScores(
        jobs=jobs,
        accuracy=float(right.sum() / jobs),
        weighted_f1=float((f1 * support).sum() / jobs),
        macro_f1=float(f1[used].mean()),
        per_class=table.reset_index(drop=True),
        confusion=pd.DataFrame(matrix, index=list(classes), columns=list(classes)).loc[used, used],
        never_predicted=_those(classes, (support > 0) & (named == 0)),
        never_learnt=_those(classes, (support > 0) & ~np.isin(np.arange(width), learned)),
    )


def _those(classes: tuple[Label, ...], chosen: Any) -> tuple[Label, ...]:
    return tuple(one for one, yes in zip(classes, chosen, strict=True) if yes)
