"""What classifiers of profiles by metadata have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.modelfile import Parts
from prophase.profile.classify.metadata_words import Words

if TYPE_CHECKING:
    from scipy import sparse


class Method(ABC):
    """Learns the profile of jobs from their words; profiles are numbered from 0 on."""

    name: ClassVar[str]
    #: what it does, in one line
    about: ClassVar[str]

    def __init__(self, *, random_state: int = 0) -> None:
        self.random_state = random_state

    def learn(self, words: Words, codes: Ints, classes: int) -> Self:
        """Learn from jobs whose profile is known."""
        counts = np.bincount(codes, minlength=classes).astype(np.float64)
        #: share of each profile among the training jobs
        self.prior = counts / counts.sum()
        self._learn(words, codes, classes)
        return self

    @abstractmethod
    def _learn(self, words: Words, codes: Ints, classes: int) -> None:
        """Learn whatever is needed beyond the shares of the profiles."""

    @abstractmethod
    def probabilities(self, words: Words) -> Floats:
        """Return how probable each profile is, (jobs, profiles); rows sum to 1."""

    @abstractmethod
    def _parts(self) -> Parts:
        """Return what has been learned, for a file."""

    @abstractmethod
    def _restore(self, parts: Parts) -> None:
        """Take back what :meth:`_parts` returned."""

    def parts(self) -> Parts:
        """Return everything a file has to keep."""
        own = self._parts()
        return Parts(own.meta, {**own.arrays, "prior": self.prior}, own.blobs)

    def restored(self, parts: Parts) -> Self:
        """Become what was learned when ``parts`` was taken."""
        self.prior = np.asarray(parts.arrays["prior"], dtype=np.float64)
        self._restore(parts)
        return self


def class_counts(rows: sparse.csr_matrix, codes: Ints, classes: int) -> Floats:
    """Return per column of a sparse 0/1 matrix how many rows of each profile have it."""
    from scipy import sparse

    jobs = len(codes)
    one = sparse.csr_matrix((np.ones(jobs), (np.arange(jobs), codes)), shape=(jobs, classes))
    return np.asarray((rows.T.astype(np.float64) @ one).todense())
