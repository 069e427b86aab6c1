"""Nearest neighbour: the finished jobs that share most words, rare words above all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.modelfile import Parts
from prophase.profile.classify.metadata_words import Words
from prophase.profile.classify.methods.method import Method
from prophase.profile.classify.one_hot import OneHot

if TYPE_CHECKING:
    from scipy import sparse

#: jobs compared at once; bounds the memory
_BATCH = 256
#: how many jobs the shares of all profiles weigh
_PULL = 1.0


class Nearest(Method):
    """Shared words weigh log(jobs / jobs with that word); equally near jobs vote together."""

    name = "nearest"
    about = "vote of the finished jobs with most words in common, rare ones first"

    def _learn(self, words: Words, codes: Ints, classes: int) -> None:
        self._encoding = OneHot.fit(words)
        known = self._encoding.codes(words)
        self._kinds, place = np.unique(known, axis=0, return_inverse=True)
        self._counts = np.zeros((len(self._kinds), classes))
        np.add.at(self._counts, (place.ravel(), codes), 1.0)
        seen = np.bincount(known[known >= 0], minlength=self._encoding.dimension)
        # a word that every job has still makes two jobs a little alike
        self._weight = np.log(len(words) / np.maximum(seen, 1)) + 1e-3

    def probabilities(self, words: Words) -> Floats:
        kinds = self._matrix(self._kinds).T.tocsr()
        codes = self._encoding.codes(words)
        found = np.empty((len(words), len(self.prior)))
        for first in range(0, len(words), _BATCH):
            rows = slice(first, first + _BATCH)
            shared = np.asarray((self._matrix(codes[rows]) @ kinds).todense())
            best = shared.max(axis=1, keepdims=True)
            votes = ((shared >= best - 1e-9) & (best > 0)).astype(np.float64) @ self._counts
            found[rows] = votes + _PULL * self.prior
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def _matrix(self, codes: Ints) -> sparse.csr_matrix:
        from scipy import sparse

        known = codes >= 0
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        # the weight of a shared word is the product of both sides
        weight = np.sqrt(self._weight[codes[known]])
        shape = (len(codes), self._encoding.dimension)
        return sparse.csr_matrix((weight, codes[known], ends), shape=shape)

    def _parts(self) -> Parts:
        return Parts(
            self._encoding.to_dict(),
            {"kinds": self._kinds, "counts": self._counts, "weight": self._weight},
        )

    def _restore(self, parts: Parts) -> None:
        self._encoding = OneHot.from_dict(parts.meta)
        self._kinds, self._counts = parts.arrays["kinds"], parts.arrays["counts"]
        self._weight = parts.arrays["weight"]
