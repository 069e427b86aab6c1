"""XGBoost on target-encoded words: how often jobs with a word belonged to each profile."""

from __future__ import annotations

from typing import Any

import numpy as np

from prophase.modelfile import Parts
from prophase.profile.classify.encoding import OneHot
from prophase.profile.classify.metadata import Words
from prophase.profile.classify.methods.boosted import Boosted
from prophase.profile.classify.methods.method import Floats, Ints, class_counts

#: how many jobs the shares of all profiles weigh against those of a word
_PULL = 5.0
_FOLDS = 5


class TargetEncoded(Boosted):
    """Shares of the profiles per word, of other jobs than the one that is learnt from."""

    name = "target-encoded"
    about = "XGBoost on the shares of the profiles among jobs with the same word"

    def _learn_features(self, words: Words, codes: Ints, classes: int) -> Any:
        self._encoding = OneHot.learnt(words)
        rows = self._encoding.encode(words)
        self._counts = class_counts(rows, codes, classes)
        places = self._encoding.codes(words)
        fold = np.random.default_rng(self.random_state).permutation(len(words)) % _FOLDS
        seen = np.empty((len(words), len(words.columns) * (classes + 1)), dtype=np.float32)
        for number in range(_FOLDS):
            mine = fold == number
            # with its own profile among the shares, every rare word would seem to tell all
            others = self._counts - class_counts(rows[mine], codes[mine], classes)
            seen[mine] = self._shares(places[mine], others)
        return seen

    def _features(self, words: Words) -> Any:
        return self._shares(self._encoding.codes(words), self._counts)

    def _shares(self, places: Ints, counts: Floats) -> Any:
        """Return per column the shares of the profiles, and how many jobs they rest on."""
        columns = []
        for place in places.T:
            held = np.where(place[:, None] >= 0, counts[np.maximum(place, 0)], 0.0)
            jobs = held.sum(axis=1, keepdims=True)
            columns += [(held + _PULL * self.prior) / (jobs + _PULL), np.log1p(jobs)]
        return np.concatenate(columns, axis=1).astype(np.float32)

    def _feature_parts(self) -> Parts:
        meta = {"columns": list(self._encoding.columns), "words": self._encoding.to_lists()}
        return Parts(meta, {"counts": self._counts})

    def _restore_features(self, parts: Parts) -> None:
        self._encoding = OneHot.from_lists(tuple(parts.meta["columns"]), parts.meta["words"])
        self._counts = np.asarray(parts.arrays["counts"], dtype=np.float64)
