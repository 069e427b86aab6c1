"""XGBoost on a metadata embedding, the paper's future work.

The paper names an autoencoder. A linear autoencoder with squared loss finds the same space as
a truncated singular value decomposition (Baldi and Hornik, 1989), which needs no training
loop and always ends in the same place; so that is what is done, on the one-hot words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import svds

from prophase.modelfile import Parts
from prophase.profile.classify.encoding import OneHot
from prophase.profile.classify.metadata import Words
from prophase.profile.classify.methods.boosted import Boosted
from prophase.profile.classify.methods.method import Floats, Ints

_DIMENSIONS = 32


class Embedding(Boosted):
    """Words that occur with the same other words lie close to one another."""

    name = "embedding"
    about = (
        f"XGBoost on {_DIMENSIONS} singular directions of the one-hot words (linear autoencoder)"
    )

    def _learn_features(self, words: Words, codes: Ints, classes: int) -> Any:
        self._encoding = OneHot.learnt(words)
        rows = self._encoding.encode(words)
        self._directions = _directions(rows, self.random_state)
        return self._features(words)

    def _features(self, words: Words) -> Any:
        return np.asarray(self._encoding.encode(words) @ self._directions, dtype=np.float32)

    def _feature_parts(self) -> Parts:
        meta = {"columns": list(self._encoding.columns), "words": self._encoding.to_lists()}
        return Parts(meta, {"directions": self._directions})

    def _restore_features(self, parts: Parts) -> None:
        self._encoding = OneHot.from_lists(tuple(parts.meta["columns"]), parts.meta["words"])
        self._directions = parts.arrays["directions"]


def _directions(rows: Any, random_state: int) -> Floats:
    """Return the directions along which rows differ most, (dimension, at most 32)."""
    least = min(rows.shape)
    if least <= _DIMENSIONS:
        return np.linalg.svd(rows.toarray().astype(np.float64), full_matrices=False)[2].T
    start = np.random.default_rng(random_state).standard_normal(least)
    found = svds(rows.astype(np.float64), k=_DIMENSIONS, v0=start)[2].T
    return np.ascontiguousarray(found[:, ::-1])
