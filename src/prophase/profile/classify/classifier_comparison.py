"""Compare classifiers of profiles, all on the same labels and the same splits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.array_types import Array, Bools, Ints
from prophase.errors import InputError, ParameterError, ProphaseError, not_among
from prophase.json_types import JsonObject
from prophase.profile.classify.classifier import labels_of
from prophase.profile.classify.metadata_words import choose_columns, words_of
from prophase.profile.classify.methods import METHODS, method_named
from prophase.profile.classify.one_hot import EncodingSize, OneHot
from prophase.profile.classify.profile_labels import Label
from prophase.trace.split import Split, split_by_job, split_by_row, split_by_time

#: the paper's own, then the two that are honest
SPLITS = ("row", "job", "time")


@dataclass(frozen=True)
class ClassifierComparison:
    """Scores of every method on every split."""

    #: one row per method and split
    table: pd.DataFrame
    #: (method, split) -> scores per profile
    reports: dict[tuple[str, str], ClassifierScores]
    #: split -> (training jobs, jobs judged on)
    sides: dict[str, tuple[int, int]]
    columns: tuple[str, ...]
    size: EncodingSize
    notes: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        return {
            "columns": list(self.columns),
            "encoding": vars(self.size),
            "splits": {
                split: {"train_jobs": train, "test_jobs": test}
                for split, (train, test) in self.sides.items()
            },
            "methods": {
                name: {
                    split: self.reports[n, split].to_dict()
                    for n, split in self.reports
                    if n == name
                }
                for name in dict.fromkeys(name for name, _ in self.reports)
            },
            "notes": list(self.notes),
        }


def compare_classifiers(
    jobs: pd.DataFrame,
    labels: Sequence[Any] | Array | pd.Series | str,
    methods: Sequence[str] = tuple(METHODS),
    *,
    splits: Sequence[str] = SPLITS,
    metadata: str | Sequence[str] = "paper",
    test_share: float = 0.2,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> ClassifierComparison:
    """Train each method on one side of each split and score it on the other.

    Parameters
    ----------
    jobs, labels
        As in :meth:`ProfileClassifier.fit`.
    splits : sequence of str
        row (as in the paper), job (no job on both sides) and time (learn only from what had
        ended). One that the table does not allow is left out, and a note says why.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": range(60), "user": ["ann", "bob", "eve"] * 20})
    >>> found = compare_classifiers(jobs, [1, 1, 2] * 20, ["rules", "most-frequent"])
    >>> found.table[["method", "split", "accuracy"]].round(2).values.tolist()[0]
    ['rules', 'row', 1.0]
    >>> found.notes[-1][:22]
    'No split by time: spli'
    """
    found = labels_of(jobs, labels)
    label = labels if isinstance(labels, str) else None
    columns, notes = choose_columns(jobs, metadata, label=label)
    known = jobs.iloc[found.rows]
    words = words_of(known, columns)
    sides, split_notes = _split(known, splits, test_share, random_state)
    rows, reports = [], {}
    for name in methods:
        for split, side in sides.items():
            if progress is not None:
                progress(f"{name}, split by {split}")
            began = time.perf_counter()
            method = method_named(name, random_state=random_state)
            train, test = side.train, side.test
            # renumbered: what the train side has not seen is no profile to it
            present, codes = np.unique(found.codes[train], return_inverse=True)
            method.learn(words.rows(train), codes, len(present))
            fitted = time.perf_counter()
            answer = present[method.probabilities(words.rows(test)).argmax(axis=1)]
            report = score(found.codes[test], answer, found.classes, present)
            reports[name, split] = report
            rows.append(
                {
                    "method": name,
                    "split": split,
                    "accuracy": report.accuracy,
                    "weighted_f1": report.weighted_f1,
                    "macro_f1": report.macro_f1,
                    "never_predicted": len(report.never_predicted),
                    "fit_seconds": fitted - began,
                    "predict_seconds": time.perf_counter() - fitted,
                }
            )
    return ClassifierComparison(
        table=pd.DataFrame(rows),
        reports=reports,
        sides={name: (len(side.train), len(side.test)) for name, side in sides.items()},
        columns=columns,
        size=OneHot.fit(words).size(words),
        notes=(*notes, *found.notes, *split_notes),
    )


def _split(
    jobs: pd.DataFrame, names: Sequence[str], test_share: float, random_state: int
) -> tuple[dict[str, Split], list[str]]:
    makers: dict[str, Callable[[], Split]] = {
        "row": lambda: split_by_row(jobs, test_share, random_state=random_state),
        "job": lambda: split_by_job(jobs, test_share, random_state=random_state),
        "time": lambda: split_by_time(jobs, test_share=test_share),
    }
    found: dict[str, Split] = {}
    notes: list[str] = []
    for name in names:
        if name not in makers:
            raise ParameterError(not_among(f"there is no split by {name!r}.", name, makers))
        try:
            found[name] = makers[name]()
        except ProphaseError as cause:
            notes.append(f"No split by {name}: {cause}")
    if not found:
        raise InputError("the jobs cannot be divided. " + " ".join(notes))
    return found, notes


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


def _those(classes: tuple[Label, ...], chosen: Bools) -> tuple[Label, ...]:
    return tuple(one for one, yes in zip(classes, chosen, strict=True) if yes)
