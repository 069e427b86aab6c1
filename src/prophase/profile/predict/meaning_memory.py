"""What jobs of nearest meaning did: texts that a sentence encoder finds alike, as of any moment."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prophase.array_types import Bools, Floats, Ints
from prophase.errors import ModelFileError
from prophase.profile.predict.back_off_keys import Keys
from prophase.profile.predict.job_text import hidden
from prophase.profile.predict.text_encoder import Directions, encoder_named
from prophase.profile.predict.word_memory import WordMemory, WordRecall

#: different texts that are kept, those of most jobs
_MOST = 4_096
#: nearest texts that are looked at
_NEAREST = 24
#: how much less a text counts that is less alike: at a cosine of 0.8, a sixth of one at 1
_CLOSENESS = 8.0
_SAMPLE = "train a neural network on images"
#: jobs whose nearest texts are found at once; bounds the memory
_BATCH = 1_000


@dataclass(frozen=True)
class Sentences:
    """What jobs' texts say: different texts, and which one each job has."""

    which: Ints
    keys: Keys
    directions: Directions
    #: jobs that are asked as if most texts had never been seen
    strange: Bools

    def rows(self, chosen: NDArray[np.intp]) -> Sentences:
        """Return some of the jobs."""
        return replace(self, which=self.which[chosen], strange=self.strange[chosen])

    def with_few_texts(self, rows: Bools) -> Sentences:
        """Return the same jobs, some as if their own text and most others were unknown."""
        return replace(self, strange=self.strange | rows)


class MeaningMemory:
    """Outcomes of finished jobs by what their texts mean.

    Parameters
    ----------
    encoder : str
        Name of the sentence encoder; a model that was learnt with it is asked with it.
    """

    def __init__(self, encoder: str) -> None:
        self.encoder = encoder
        self._outcomes = WordMemory(whole=True)
        #: where the encoder found a text of ours, to know it again
        self._sample = encoder_named(encoder)([_SAMPLE])
        self._keys: Keys = np.empty(0, dtype=np.uint64)
        self._directions = self._sample[:0].astype(np.float16)
        #: when the first job of each text ended, and how many have
        self._first = np.empty(0)
        self._jobs = np.empty(0, dtype=np.int64)

    def check_encoder(self) -> None:
        """Refuse an encoder that is not the one this was learnt with."""
        found = encoder_named(self.encoder)([_SAMPLE])
        if found.shape != self._sample.shape or not np.allclose(found, self._sample, atol=1e-3):
            raise ModelFileError(
                f"its text encoder {self.encoder} is of another version than the one installed here"
            )

    def read(self, texts: list[str], keys: Keys, which: Ints) -> Sentences:
        """Return what texts say, and which one each job has."""
        directions = encoder_named(self.encoder)(texts)
        return Sentences(which, keys, directions, np.zeros(len(which), dtype=np.bool_))

    def own_copy(self) -> MeaningMemory:
        """Return a memory that can learn alone."""
        mine = copy.copy(self)
        mine._outcomes = self._outcomes.own_copy()
        return mine

    def add(self, asked: Sentences, ends: Floats, values: Floats) -> None:
        """Remember finished jobs."""
        says = np.abs(asked.directions).sum(axis=1) > 0
        rows = np.flatnonzero(says[asked.which])
        if not len(rows):
            return
        which, end = asked.which[rows], ends[rows]
        self._outcomes.add(asked.keys[which][:, None], end, values[rows])
        jobs = np.bincount(which, minlength=len(says))
        first = np.full(len(says), np.inf)
        np.minimum.at(first, which, end)
        some = np.flatnonzero(jobs)
        keys = np.concatenate([self._keys, asked.keys[some]])
        kept, place, code = np.unique(keys, return_index=True, return_inverse=True)
        count = np.bincount(code, np.concatenate([self._jobs, jobs[some]])).astype(np.int64)
        earliest = np.full(len(kept), np.inf)
        np.minimum.at(earliest, code, np.concatenate([self._first, first[some]]))
        best = np.sort(np.lexsort((earliest, count))[-_MOST:])
        every = np.concatenate([self._directions, asked.directions[some].astype(np.float16)])
        self._keys, self._jobs, self._first = kept[best], count[best], earliest[best]
        self._directions = every[place[best]]

    def recall(self, asked: Sentences, as_of: Floats, variance: float) -> WordRecall:
        """Return what was known of the texts nearest to each job's before each moment."""
        ask = np.column_stack([asked.which, asked.strange, as_of])
        different, code = np.unique(ask, axis=0, return_inverse=True)
        code, each = code.ravel(), min(_NEAREST, len(self._keys))
        near = np.zeros((len(different), each), dtype=np.int64)
        close = np.zeros(near.shape)
        if each:
            held = self._directions.astype(np.float32)
            for begin in range(0, len(different), _BATCH):
                part = slice(begin, begin + _BATCH)
                near[part], close[part] = self._nearest(asked, different[part], held, each)
        alike = np.maximum(close, 0.0) ** _CLOSENESS
        return self._outcomes.recall(self._keys[near][code], as_of, variance, alike[code])

    def _nearest(
        self, asked: Sentences, ask: Floats, held: Directions, each: int
    ) -> tuple[Ints, Floats]:  # fmt: skip
        """Return the nearest known texts, and their cosines; 0 where fewer are known."""
        which, strange, moment = ask[:, 0].astype(np.int64), ask[:, 1:2] > 0, ask[:, 2:]
        cosine: Floats = (asked.directions[which] @ held.T).astype(np.float64)
        own = asked.keys[which][:, None] == self._keys[None, :]
        unknown = self._first[None, :] >= moment
        cosine[unknown | strange & (own | hidden(self._keys)[None, :])] = 0.0
        some = np.argpartition(-cosine, each - 1, axis=1)[:, :each]
        order = np.argsort(-np.take_along_axis(cosine, some, axis=1), axis=1, kind="stable")
        near = np.take_along_axis(some, order, axis=1)
        return near, np.take_along_axis(cosine, near, axis=1)
