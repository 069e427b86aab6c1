"""One-hot encoding: a column per word, kept sparse; words never seen before have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Ints
from prophase.json_types import JsonMapping, JsonObject
from prophase.plural import counted
from prophase.profile.classify.metadata_words import Words

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True)
class EncodingSize:
    """How far the encoding grows, and what it saves to keep it sparse."""

    jobs: int
    #: metadata columns before, and one-hot columns after
    columns: int
    dimension: int
    sparse_bytes: int
    dense_bytes: int

    def sentence(self) -> str:
        """Return the sizes in one line."""
        return (
            f"{counted(self.columns, 'column')} became {self.dimension:,}: "
            f"{self.sparse_bytes / 2**20:.1f} MiB sparse, "
            f"{self.dense_bytes / 2**20:,.0f} MiB if it were dense."
        )


@dataclass(frozen=True)
class OneHot:
    """A learned encoding: which word of which column has which place.

    Examples
    --------
    >>> words = Words(("user",), np.array([["ann"], ["bob"], ["ann"]], dtype=object))
    >>> encoding = OneHot.fit(words)
    >>> unseen = Words(("user",), np.array([["bob"], ["eve"]], dtype=object))
    >>> encoding.encode(unseen).toarray()
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """

    columns: tuple[str, ...]
    #: per column: word -> its place in the encoding
    places: tuple[dict[str, int], ...]

    @classmethod
    def fit(cls, words: Words) -> OneHot:
        """Give every word its place: columns in order, words in alphabetical order."""
        columns = range(len(words.columns))
        known = ({word for word in words.values[:, c] if word is not None} for c in columns)
        return cls.from_lists(words.columns, [sorted(held) for held in known])

    @classmethod
    def from_lists(cls, columns: tuple[str, ...], lists: Sequence[Sequence[str]]) -> OneHot:
        """Return the encoding that :meth:`to_lists` was taken from."""
        places, first = [], 0
        for known in lists:
            places.append({word: first + number for number, word in enumerate(known)})
            first += len(known)
        return cls(columns, tuple(places))

    def to_lists(self) -> list[list[str]]:
        """Return the words of each column in order."""
        return [list(held) for held in self.places]

    def to_dict(self) -> JsonObject:
        """Return what a model file holds of it."""
        return {"columns": list(self.columns), "words": self.to_lists()}

    @classmethod
    def from_dict(cls, held: JsonMapping) -> OneHot:
        """Return the encoding that :meth:`to_dict` was taken from."""
        return cls.from_lists(tuple(held["columns"]), held["words"])

    @property
    def dimension(self) -> int:
        return sum(map(len, self.places))

    def names(self) -> list[tuple[str, str]]:
        """Return column and word of every place."""
        return [
            (column, word)
            for column, held in zip(self.columns, self.places, strict=True)
            for word in held
        ]

    def codes(self, words: Words) -> Ints:
        """Return the place of every word, (jobs, columns); -1 where it was never seen."""
        found = np.full(words.values.shape, -1, dtype=np.int64)
        for column, held in enumerate(self.places):
            found[:, column] = [held.get(word, -1) for word in words.values[:, column]]
        return found

    def encode(self, words: Words) -> sparse.csr_matrix:
        """Return a sparse matrix, (jobs, dimension), with a one for each known word."""
        from scipy import sparse

        codes = self.codes(words)
        known = codes >= 0
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        ones = np.ones(int(ends[-1]), dtype=np.float32)
        shape = (len(words), self.dimension)
        # places grow with the columns, so the entries of a row are in order
        return sparse.csr_matrix((ones, codes[known], ends), shape=shape)

    def few(self, words: Words) -> NDArray[np.float32]:
        """Return the same of a few jobs without SciPy; NaN where the matrix has no entry."""
        codes = self.codes(words)
        found = np.full((len(words), self.dimension), np.nan, dtype=np.float32)
        found[np.nonzero(codes >= 0)[0], codes[codes >= 0]] = 1.0
        return found

    def size(self, words: Words) -> EncodingSize:
        """Return what encoding these words takes."""
        held = self.encode(words)
        return EncodingSize(
            jobs=len(words),
            columns=len(self.columns),
            dimension=self.dimension,
            sparse_bytes=int(held.data.nbytes + held.indices.nbytes + held.indptr.nbytes),
            dense_bytes=len(words) * self.dimension * held.data.itemsize,
        )
