"""XGBoost with its default settings: on one-hot words as in the paper, or other features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from prophase.array_types import Array, Floats, Ints
from prophase.errors import ModelFileError
from prophase.modelfile import Parts
from prophase.profile.classify.metadata_words import Words
from prophase.profile.classify.methods.method import Method, class_counts
from prophase.profile.classify.one_hot import OneHot
from prophase.profile.predict.leaf_forest import xgboost

#: the library's default of its scikit-learn interface, which the paper uses
ROUNDS = 100
_BLOB = "booster.ubj"
#: one row per job: words as ones in a sparse matrix, or numbers
Features: TypeAlias = sparse.csr_matrix | Array


class Boosted(Method):
    """Trees on features that a subclass makes of the words; one-hot words if it does not."""

    encoding: OneHot

    def _learn(self, words: Words, codes: Ints, classes: int) -> None:
        self.encoding = OneHot.fit(words)
        seen = self._learn_features(words, codes, classes)
        self.booster: Any = None
        if classes < 2 or not seen.shape[1]:
            # there is nothing to choose from, or nothing to choose by
            return
        settings = {
            "objective": "multi:softprob",
            "num_class": classes,
            "seed": self.random_state,
            # several threads wait for each other on a busy machine
            "nthread": 1,
        }
        data = xgboost().DMatrix(seen, codes, nthread=1)
        self.booster = xgboost().train(settings, data, ROUNDS)

    def probabilities(self, words: Words) -> Floats:
        if self.booster is None or not len(words):
            return np.tile(self.prior, (len(words), 1))
        found = self.booster.inplace_predict(self._features(words))
        return np.asarray(found, dtype=np.float64).reshape(len(words), len(self.prior))

    def _learn_features(self, words: Words, codes: Ints, classes: int) -> Features:
        """Learn how words become features, and return those of the training jobs."""
        return self._features(words)

    def _features(self, words: Words) -> Features:
        """Return the features of jobs, one row each."""
        return self.encoding.encode(words)

    def _arrays(self) -> dict[str, Floats]:
        """Return what makes features of words beside the encoding, for a file."""
        return {}

    def _restore_arrays(self, arrays: Mapping[str, Floats]) -> None:
        """Take back what :meth:`_arrays` returned."""

    def _parts(self) -> Parts:
        blobs = {} if self.booster is None else {_BLOB: bytes(self.booster.save_raw("ubj"))}
        return Parts(self.encoding.to_dict(), self._arrays(), blobs)

    def _restore(self, parts: Parts) -> None:
        self.encoding = OneHot.from_dict(parts.meta)
        self._restore_arrays(parts.arrays)
        self.booster = None
        if _BLOB in parts.blobs:
            module = xgboost()
            try:
                self.booster = module.Booster(
                    {"nthread": 1}, model_file=bytearray(parts.blobs[_BLOB])
                )
            except module.core.XGBoostError as cause:
                raise ModelFileError(
                    f"the trees in the file cannot be read: {str(cause).splitlines()[0]}. "
                    "Retrain the classifier."
                ) from cause


class OneHotBoosted(Boosted):
    """The paper's classifier: sparse one-hot words, default settings."""

    name = "xgboost"
    about = "XGBoost, default settings, on one-hot words: the paper's classifier"


# XGBoost on a metadata embedding, the paper's future work.
#
# The paper names an autoencoder. A linear autoencoder with squared loss finds the same space as
# a truncated singular value decomposition (Baldi and Hornik, 1989), which needs no training
# loop and always ends in the same place; so that is what is done, on the one-hot words.


_DIMENSIONS = 32


class Embedding(Boosted):
    """Words that occur with the same other words lie close to one another."""

    name = "embedding"
    about = (
        f"XGBoost on {_DIMENSIONS} singular directions of the one-hot words (linear autoencoder)"
    )

    def _learn_features(self, words: Words, codes: Ints, classes: int) -> Features:
        rows = self.encoding.encode(words)
        self._directions = _directions(rows, self.random_state)
        return self._features(words)

    def _features(self, words: Words) -> Features:
        return np.asarray(self.encoding.encode(words) @ self._directions, dtype=np.float32)

    def _arrays(self) -> dict[str, Floats]:
        return {"directions": self._directions}

    def _restore_arrays(self, arrays: Mapping[str, Floats]) -> None:
        self._directions = arrays["directions"]


def _directions(rows: sparse.csr_matrix, random_state: int) -> Floats:
    """Return the directions along which rows differ most, (dimension, at most 32)."""
    least = min(rows.shape)
    if least <= _DIMENSIONS:
        return np.linalg.svd(rows.toarray().astype(np.float64), full_matrices=False)[2].T
    start = np.random.default_rng(random_state).standard_normal(least)
    from scipy.sparse.linalg import svds

    found = svds(rows.astype(np.float64), k=_DIMENSIONS, v0=start)[2].T
    return np.ascontiguousarray(found[:, ::-1])


#: how many jobs the shares of all profiles weigh against those of a word
_PULL = 5.0
_FOLDS = 5


class TargetEncoded(Boosted):
    """Shares of the profiles per word, of other jobs than the one that is learned from."""

    name = "target-encoded"
    about = "XGBoost on the shares of the profiles among jobs with the same word"

    def _learn_features(self, words: Words, codes: Ints, classes: int) -> Features:
        rows = self.encoding.encode(words)
        self._counts = class_counts(rows, codes, classes)
        places = self.encoding.codes(words)
        fold = np.random.default_rng(self.random_state).permutation(len(words)) % _FOLDS
        seen = np.empty((len(words), len(words.columns) * (classes + 1)), dtype=np.float32)
        for number in range(_FOLDS):
            mine = fold == number
            # with its own profile among the shares, every rare word would seem to decide all
            others = self._counts - class_counts(rows[mine], codes[mine], classes)
            seen[mine] = self._shares(places[mine], others)
        return seen

    def _features(self, words: Words) -> Features:
        return self._shares(self.encoding.codes(words), self._counts)

    def _shares(self, places: Ints, counts: Floats) -> Array:
        """Return per column the shares of the profiles, and how many jobs they rest on."""
        columns = []
        for place in places.T:
            held = np.where(place[:, None] >= 0, counts[np.maximum(place, 0)], 0.0)
            jobs = held.sum(axis=1, keepdims=True)
            columns += [(held + _PULL * self.prior) / (jobs + _PULL), np.log1p(jobs)]
        return np.concatenate(columns, axis=1).astype(np.float32)

    def _arrays(self) -> dict[str, Floats]:
        return {"counts": self._counts}

    def _restore_arrays(self, arrays: Mapping[str, Floats]) -> None:
        self._counts = np.asarray(arrays["counts"], dtype=np.float64)
