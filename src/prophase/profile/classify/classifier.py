"""ProfileClassifier: which profile will a job have? From submit-time metadata alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from prophase.array_types import Array, Floats
from prophase.errors import (
    InputError,
    MissingColumnError,
    ModelFileError,
    ParameterError,
    not_among,
)
from prophase.modelfile import Parts, load_model, save_model
from prophase.profile.classify.metadata_words import (
    Words,
    choose_columns,
    refuse_other_columns,
    words_of,
)
from prophase.profile.classify.methods import DEFAULT, method_named
from prophase.profile.classify.methods.method import Method
from prophase.profile.classify.one_hot import EncodingSize, OneHot
from prophase.profile.classify.probability_threshold import (
    FALLBACK,
    Threshold,
    learn_threshold,
)
from prophase.profile.classify.profile_labels import Labels, numbered

KIND = "profile.classifier"
UNKNOWN = "unknown"


@dataclass(eq=False, repr=False)
class ProfileClassifier:
    """Predict a job's profile from what is known when it is submitted.

    Attributes
    ----------
    classes_ : tuple
        The profiles, or other labels, that it can answer with.
    columns_ : tuple of str
        Metadata columns it reads.
    threshold_ : Threshold
        Where unknown begins, and why.
    size_ : EncodingSize
        How many columns the one-hot encoding has, and what it takes.
    notes_ : tuple of str
        What a reader of the result has to know.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 30, "workload": ["bert", "gnn"] * 30})
    >>> classifier = ProfileClassifier("rules").fit(jobs, [8, 3] * 30)
    >>> new = pd.DataFrame({"user": ["ann", "eve"], "workload": ["bert", "vgg"]})
    >>> classifier.assign(new)["profile"].tolist()
    [8, 'unknown']
    """

    #: xgboost (the paper's), target-encoded, embedding, autoencoder, nearest, rules,
    #: most-frequent
    method: str = DEFAULT
    _: KW_ONLY
    #: the paper's user, group, workload, task and job name as far as they are there, every submit-
    #: time column, or these
    metadata: str | Sequence[str] = "paper"
    #: answers of a lower probability are *unknown*. By itself it learns from held-out jobs where
    #: nine answers out of ten are right, which takes a second training
    unknown_below: float | str = "auto"
    #: seed of everything random
    random_state: int = 0

    def fit(self, jobs: pd.DataFrame, labels: Sequence[Any] | Array | pd.Series | str) -> Self:
        """Learn from jobs with known profiles; outliers (-1) and missing labels are left out.

        Parameters
        ----------
        jobs : DataFrame
            A job table.
        labels : sequence or str
            One per job, such as ``WorkloadProfiler.labels_``, or a column of the table.
        """
        self._check()
        if jobs.empty:
            raise InputError("the history is empty; there is no job to learn profiles from.")
        column = labels if isinstance(labels, str) else None
        found = labels_of(jobs, labels)
        self.columns_, notes = choose_columns(jobs, self.metadata, label=column)
        known = jobs.iloc[found.rows]
        words = words_of(known, self.columns_)
        self.classes_ = found.classes
        self.threshold_ = self._threshold(known, words, found)
        self.method_ = self._make().learn(words, found.codes, len(found.classes))
        self.encoding_ = OneHot.fit(words)
        self.size_ = self.encoding_.size(words)
        one = len(found.classes) == 1
        only = (f"There is one profile only, {found.classes[0]}: every job gets it.",)
        self.notes_ = (*notes, *found.notes, *(only if one else ()))
        self.data_hash_ = _content_hash(words, found)
        return self

    def predict_proba(self, jobs: pd.DataFrame, *, partial: bool = False) -> Floats:
        """Return how probable each profile is, (jobs, profiles) in the order of ``classes_``.

        Parameters
        ----------
        partial : bool, default=False
            Answer also where some of the metadata columns are absent.
        """
        return self.fitted_method().probabilities(self.words(jobs, partial=partial))

    def predict(self, jobs: pd.DataFrame, *, partial: bool = False) -> Array:
        """Return the most probable profile of each job, however improbable it is."""
        best = self.predict_proba(jobs, partial=partial).argmax(axis=1)
        return np.asarray(np.array(self.classes_)[best])

    def assign(
        self, jobs: pd.DataFrame, *, partial: bool = False, likely: bool = False
    ) -> pd.DataFrame:
        """Return profile, probability and reason of each job; *unknown* where it is unsure.

        A job none of whose metadata was ever seen is unknown at any probability.

        Parameters
        ----------
        partial : bool, default=False
            Answer also where some of the metadata columns are absent.
        likely : bool, default=False
            Name a profile that is likelier than all others together. That names more jobs, and
            more of them wrongly: it is for answers that say the probability, or measure the error.

        Returns
        -------
        DataFrame
            ``profile``, ``probability`` (of the most probable profile, named or not),
            ``candidate`` (that profile), ``seen`` (metadata columns whose value was seen
            before) and ``reason``, with the index of ``jobs``.
        """
        words = self.words(jobs, partial=partial)
        found = self.fitted_method().probabilities(words)
        best = found.argmax(axis=1)
        probability = found[np.arange(len(best)), best]
        seen = self.encoding_.codes(words) >= 0
        nothing = ~seen.any(axis=1)
        unsure = probability < (FALLBACK if likely else self.threshold_.value)
        candidate = np.array([self.classes_[code] for code in best], dtype=object)
        rows = zip(words.values.tolist(), seen.tolist(), unsure.tolist(), strict=True)
        return pd.DataFrame(
            {
                "profile": np.where(nothing | unsure, UNKNOWN, candidate),
                "probability": probability,
                "candidate": candidate,
                "seen": seen.sum(axis=1),
                "reason": [self._reason(*one) for one in rows],
            },
            index=jobs.index,
        )

    def save(self, path: Path | str) -> str:
        """Write the classifier to one file and return its checksum."""
        self._require_fit()
        parts = self.method_.parts()
        meta = {
            "method": self.method,
            "method_parts": dict(parts.meta),
            "classes": list(self.classes_),
            "words": self.encoding_.to_lists(),
            "threshold": self.threshold_.to_dict(),
            "size": vars(self.size_),
            "notes": list(self.notes_),
        }
        return save_model(
            path,
            kind=KIND,
            meta=meta,
            arrays=parts.arrays,
            blobs=parts.blobs,
            columns=self.columns_,
            data_hash=self.data_hash_,
            seed=self.random_state,
        )

    @classmethod
    def load(cls, path: Path | str) -> ProfileClassifier:
        """Return the classifier of a file; it answers as before."""
        model = load_model(path, kind=KIND)
        meta = model.meta
        try:
            threshold = Threshold(**meta["threshold"])
            self = cls(
                meta["method"],
                metadata=list(model.columns),
                unknown_below=threshold.value,
                random_state=model.seed or 0,
            )
            self.columns_ = model.columns
            self.classes_ = tuple(meta["classes"])
            self.threshold_ = threshold
            self.encoding_ = OneHot.from_lists(model.columns, meta["words"])
            self.size_ = EncodingSize(**meta["size"])
            self.notes_ = tuple(meta["notes"])
            self.data_hash_ = model.data_hash
            parts = Parts(meta["method_parts"], model.arrays, model.blobs)
            self.method_ = self._make().restored(parts)
        except (KeyError, TypeError, ValueError) as cause:
            raise ModelFileError(
                f"{path}: lacks a part of the classifier ({cause}). Retrain it."
            ) from cause
        except (ModelFileError, ParameterError) as cause:
            raise ModelFileError(f"{path}: {cause}") from cause
        return self

    def _check(self) -> None:
        self._make()
        line = self.unknown_below
        if line == "auto":
            return
        if isinstance(line, str) or not 0 <= line < 1:
            raise ParameterError(
                f"unknown_below is {line!r}; pass a probability from 0 to below 1, or 'auto'."
            )

    def _make(self) -> Method:
        return method_named(self.method, random_state=self.random_state)

    def _threshold(self, jobs: pd.DataFrame, words: Words, found: Labels) -> Threshold:
        if isinstance(self.unknown_below, str):
            return learn_threshold(
                jobs, words, found.codes, len(found.classes), self._make, self.random_state
            )
        return Threshold(float(self.unknown_below), "as asked")

    def _reason(self, words: list[str | None], seen: list[bool], unsure: bool) -> str:
        held = list(zip(self.columns_, words, seen, strict=True))
        if not any(seen):
            return f"none of {', '.join(self.columns_)} was seen before"
        known = ", ".join(column for column, _, yes in held if yes)
        new = ", ".join(column for column, word, yes in held if word is not None and not yes)
        absent = ", ".join(column for column, word, _ in held if word is None)
        reason = f"{known} seen before"
        reason += f", {new} new" if new else ""
        reason += f", no {absent}" if absent else ""
        return f"{reason}; too unsure to name one" if unsure else reason

    def words(self, jobs: pd.DataFrame, *, partial: bool = False) -> Words:
        """Return the metadata of jobs as the classifier reads it."""
        self._require_fit()
        refuse_other_columns(jobs, self.columns_, partial=partial)
        return words_of(jobs, self.columns_)

    def fitted_method(self) -> Method:
        """Return the fitted method."""
        self._require_fit()
        return self.method_

    def _require_fit(self) -> None:
        if not hasattr(self, "method_"):
            raise ParameterError("the classifier is not fitted yet. Call fit(jobs, labels) first.")


def labels_of(jobs: pd.DataFrame, labels: Sequence[object] | Array | pd.Series | str) -> Labels:
    """Return numbered labels from a sequence, or from a column of the jobs."""
    if not isinstance(labels, str):
        return numbered(labels, len(jobs))
    if labels not in jobs:
        raise MissingColumnError(
            not_among(f"the job table has no column {labels!r}.", labels, map(str, jobs.columns))
        )
    return numbered(jobs[labels], len(jobs))


def _content_hash(words: Words, found: Labels) -> str:
    digest = hashlib.sha256(repr((words.columns, found.classes)).encode())
    for row in words.values.tolist():
        digest.update(repr(row).encode())
    digest.update(found.codes.tobytes())
    return digest.hexdigest()
