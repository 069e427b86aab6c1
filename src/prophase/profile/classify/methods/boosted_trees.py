"""XGBoost with its default settings: on one-hot words as in the paper, or other features."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from prophase.array_types import Array, Floats, Ints
from prophase.modelfile import Parts
from prophase.profile.classify.metadata_words import Words
from prophase.profile.classify.methods.method import Method, class_counts
from prophase.profile.classify.one_hot import OneHot
from prophase.profile.predict.leaf_forest import FEW, Walk, read_booster, xgboost

if TYPE_CHECKING:
    from scipy import sparse

#: the library's default of its scikit-learn interface, which the paper uses
ROUNDS = 100
_BLOB = "booster.ubj"
#: one row per job: words as ones in a sparse matrix, or numbers
Features: TypeAlias = "sparse.csr_matrix | Array"
#: what a file calls the arrays of the trees
_WALK = "walk_"


class Boosted(Method):
    """Trees on features that a subclass makes of the words; one-hot words if it does not."""

    encoding: OneHot
    #: the trees as XGBoost holds them, read from the file when they are needed
    _booster: Any = None
    _blob: bytes = b""
    #: the same as arrays, and what a profile starts from: answers few jobs without XGBoost
    _walk: Walk | None = None
    _base: Floats

    def _learn(self, words: Words, codes: Ints, classes: int) -> None:
        self.encoding = OneHot.fit(words)
        seen = self._learn_features(words, codes, classes)
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
        self._booster = xgboost().train(settings, data, ROUNDS)

    @property
    def booster(self) -> Any:
        """Return the trees, None if there was nothing to choose from."""
        if self._booster is None and self._blob:
            self._booster = read_booster(self._blob)
        return self._booster

    def probabilities(self, words: Words) -> Floats:
        if not len(words):
            return np.empty((0, len(self.prior)))
        if len(words) <= FEW and (walk := self._made_walk()) is not None:
            return self._walked(walk, words)
        if self.booster is None:
            return np.tile(self.prior, (len(words), 1))
        found = self.booster.inplace_predict(self._features(words))
        return np.asarray(found, dtype=np.float64).reshape(len(words), len(self.prior))

    def _made_walk(self) -> Walk | None:
        """Return the trees as arrays; files of earlier versions have none."""
        if self._walk is None and self.booster is not None:
            self._walk = Walk(self.booster)
            self._base = _base_scores(self.booster, len(self.prior))
        return self._walk

    def _walked(self, walk: Walk, words: Words) -> Floats:
        """Return the same of a few jobs: trees take turns over the profiles, sums are singles."""
        told = walk.values(self._few_features(words))
        sums = np.tile(self._base.astype(np.float32), (len(words), 1))
        for first in range(0, told.shape[1], sums.shape[1]):
            sums += told[:, first : first + sums.shape[1]]
        powers = np.exp(sums - sums.max(axis=1, keepdims=True))
        whole = powers.sum(axis=1, keepdims=True, dtype=np.float64)
        return np.asarray(powers / whole, dtype=np.float64)

    def _few_features(self, words: Words) -> Array:
        """Return the features of a few jobs as an array."""
        return np.asarray(self._features(words), dtype=np.float32)

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
        arrays = self._arrays()
        if (walk := self._made_walk()) is not None:
            held = {**walk.arrays(), "base": self._base}
            arrays |= {f"{_WALK}{name}": values for name, values in held.items()}
        blobs = {} if self.booster is None else {_BLOB: bytes(self.booster.save_raw("ubj"))}
        return Parts(self.encoding.to_dict(), arrays, blobs)

    def _restore(self, parts: Parts) -> None:
        self.encoding = OneHot.from_dict(parts.meta)
        self._restore_arrays(parts.arrays)
        self._blob = parts.blobs.get(_BLOB, b"")
        held = {
            name.removeprefix(_WALK): values
            for name, values in parts.arrays.items()
            if name.startswith(_WALK)
        }
        if held:
            self._walk, self._base = Walk.of_arrays(held), held["base"]


def _base_scores(booster: Any, classes: int) -> Floats:
    """Return the sum that each profile starts with, before any tree."""
    model = json.loads(booster.save_config())["learner"]["learner_model_param"]
    return np.broadcast_to(np.array(json.loads(model["base_score"]), float), classes).copy()


class OneHotBoosted(Boosted):
    """The paper's classifier: sparse one-hot words, default settings."""

    name = "xgboost"
    about = "XGBoost, default settings, on one-hot words: the paper's classifier"

    def _few_features(self, words: Words) -> Array:
        return self.encoding.few(words)


# XGBoost on a metadata embedding, the paper's future work.
#
# The paper names an autoencoder. A linear one with squared loss finds the same space as a
# truncated singular value decomposition (Baldi and Hornik, 1989), which needs no training loop
# and always ends in the same place. The one that is not linear is in autoencoder_embedding.py.


DIMENSIONS = 32


class Embedding(Boosted):
    """Words that occur with the same other words lie close to one another."""

    name = "embedding"
    about = f"XGBoost on {DIMENSIONS} singular directions of the one-hot words (linear autoencoder)"

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
    if least <= DIMENSIONS:
        return np.linalg.svd(rows.toarray().astype(np.float64), full_matrices=False)[2].T
    start = np.random.default_rng(random_state).standard_normal(least)
    from scipy.sparse.linalg import svds

    found = svds(rows.astype(np.float64), k=DIMENSIONS, v0=start)[2].T
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
