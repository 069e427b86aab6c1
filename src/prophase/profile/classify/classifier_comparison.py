"""Compare classifiers of profiles, all on the same labels and the same splits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, ParameterError, ProphaseError, not_among
from prophase.json_types import JsonObject
from prophase.profile.classify.classifier import labels_of
from prophase.profile.classify.classifier_scores import ClassifierScores, score
from prophase.profile.classify.metadata_words import choose_columns, words_of
from prophase.profile.classify.methods import METHODS, method_named
from prophase.profile.classify.one_hot import EncodingSize, OneHot
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
    labels: Sequence[Any] | NDArray[Any] | pd.Series | str,
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
