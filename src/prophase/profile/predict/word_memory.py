"""What jobs with the same words did: the words that tell most decide, as of any moment."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields

import numpy as np

from prophase.array_types import Bools, Floats, Ints
from prophase.profile.predict.back_off_keys import Keys
from prophase.profile.predict.job_text import NO_TOKEN
from prophase.profile.predict.memory import SAMPLED, Memory, Recall

#: jobs of a history whose words are remembered; later ones are added as they end
_MOST = 20_000
#: a word seen once may be anything
_FEWEST = 2
#: how much more the words count after which outcomes vary less
_SHARPNESS = 2.0
#: words whose past stands for the job's distribution
_LEADING = 3
#: and whole texts like the job's
_LEADING_TEXTS = 8


@dataclass(frozen=True)
class WordRecall:
    """What the words of each job tell: a mean, its spread, how often seen, and outcomes.

    NaN and no outcomes where none of its words is known.
    """

    mean: Floats
    spread: Floats
    count: Floats
    #: in order of size
    sample: Floats
    #: told by jobs whose texts mean nearly the same, not by those with the same words
    near: Bools

    @property
    def known(self) -> Bools:
        """Jobs of which some word is known."""
        return np.isfinite(self.mean)

    def rows(self, chosen: Bools) -> WordRecall:
        """Return what is told of some of the jobs."""
        return WordRecall(
            self.mean[chosen],
            self.spread[chosen],
            self.count[chosen],
            self.sample[chosen],
            self.near[chosen],
        )

    def sharper_of(self, other: WordRecall | None) -> WordRecall:
        """Return for each job what varies less, this or the other one."""
        if other is None:
            return self
        own, its = (np.nan_to_num(one.spread, nan=np.inf) for one in (self, other))
        better = its < own
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return WordRecall(
            *(
                np.where(better[:, None] if mine.ndim > 1 else better, theirs, mine)
                for mine, theirs in pairs
            )
        )

    def sharper_than(self, recall: list[Recall], variance: float) -> Bools:
        """Say where outcomes vary less among jobs with the same words than with the same key."""
        spread = np.full(len(self.mean), np.inf)
        for part in reversed(recall):
            held = np.minimum(part.count, SAMPLED)
            known = np.arange(SAMPLED)[None, :] < held[:, None]
            some = np.where(known, part.sample, 0.0)
            mean = some.sum(axis=1) / np.maximum(held, 1)
            away = np.where(known, some - mean[:, None], 0.0)
            own = _steadied((away**2).sum(axis=1) / np.maximum(held, 1), part.count, variance)
            spread = np.where(part.count > 0, np.sqrt(own), spread)
        return self.known & (np.nan_to_num(self.spread, nan=np.inf) < spread)

    def features(self) -> list[Floats]:
        """Return what learning methods see."""
        return [self.mean, self.spread, np.log1p(self.count)]


def _steadied(own: Floats, count: Ints, variance: float) -> Floats:
    """Return variances; few outcomes that happen to agree are no reason to be sure."""
    return (count * own + variance) / (count + 1.0)


class WordMemory:
    """Outcomes of finished jobs by word.

    Parameters
    ----------
    whole : bool, default=False
        Remember whole texts instead, of which each job has one.

    Examples
    --------
    Jobs with the second word always end after 3; the first word tells little.

    >>> held = WordMemory()
    >>> words = np.array([[1, 2], [1, 2], [1, 0], [1, 0]], dtype=np.uint64)
    >>> held.add(words, np.arange(4.0), np.array([3.0, 3.0, 9.0, 1.0]))
    >>> held.recall(words[:1], np.array([10.0]), variance=9.0).mean.round(1)
    array([3.1])
    """

    #: models of earlier versions know words only
    _whole, _fewest, _leading = False, _FEWEST, _LEADING

    def __init__(self, *, whole: bool = False) -> None:
        self._memory = Memory()
        self._whole = whole
        if whole:
            # a text that ran once tells something, since others are like it
            self._fewest, self._leading = 1, _LEADING_TEXTS

    def add(self, tokens: Keys, ends: Floats, values: Floats) -> None:
        """Remember finished jobs; of very many, some that lie evenly over time."""
        rows = np.argsort(ends, kind="stable")[:: 1 + len(ends) // _MOST]
        job, place = np.nonzero(tokens[rows] != NO_TOKEN)
        job = rows[job]
        self._memory.add(tokens[job, place], ends[job], values[job])

    def own_copy(self) -> WordMemory:
        """Return a memory that can learn alone."""
        mine = WordMemory(whole=self._whole)
        # a memory never changes its rows, it replaces them
        mine._memory = copy.copy(self._memory)
        return mine

    def recall(
        self, tokens: Keys, as_of: Floats, variance: float, alike: Floats | float = 1.0
    ) -> WordRecall:  # fmt: skip
        """Return what was known of the words of each job before each moment.

        Words that are not quite the job's own count as much as they are ``alike``.
        """
        rows, width = tokens.shape
        moments = np.repeat(as_of, width)
        held, means, own = self._memory.moments(tokens.ravel(), moments)
        count = np.where(tokens == NO_TOKEN, 0, held.reshape(rows, width))
        mean = means.reshape(rows, width)
        vary = _steadied(own.reshape(rows, width), count, variance)
        weight = np.where(
            count >= self._fewest, count / (count + 2.0) * (variance / vary) ** _SHARPNESS, 0.0
        )
        weight = weight * alike
        total = weight.sum(axis=1)
        known = total > 0
        share = weight / np.where(known, total, 1.0)[:, None]
        blank = np.where(known, 0.0, np.nan)
        leading = np.argsort(-weight, axis=1, kind="stable")[:, : self._leading]
        # of words, the first one's jobs: the others' are among them
        those = leading if self._whole else leading[:, :1]
        counted = np.where(weight > 0, count, 0) if self._whole else count
        return WordRecall(
            (share * mean).sum(axis=1) + blank,
            np.sqrt((share * vary).sum(axis=1)) + blank,
            np.take_along_axis(counted, those, axis=1).sum(axis=1).astype(np.float64),
            self._outcomes(tokens, as_of, weight, leading),
            np.full(rows, self._whole),
        )

    def _outcomes(self, tokens: Keys, as_of: Floats, weight: Floats, leading: Ints) -> Floats:
        """Return outcomes of the leading words, as many of each."""
        rows = len(tokens)
        found = np.full((rows, SAMPLED), np.nan)
        if not leading.shape[1]:
            return found
        chosen = np.take_along_axis(tokens, leading, axis=1)
        unknown = np.take_along_axis(weight, leading, axis=1) <= 0
        # a job of one known word is told by that word alone
        chosen = np.where(unknown, chosen[:, :1], chosen)
        if chosen.shape[1] < self._leading:
            chosen = np.concatenate(
                [chosen] + [chosen[:, :1]] * (self._leading - chosen.shape[1]), axis=1
            )
        past = self._memory.recall(chosen.ravel(), np.repeat(as_of, self._leading))
        held, each = np.minimum(past.count, SAMPLED), SAMPLED // self._leading
        place = ((np.arange(each)[None, :] + 0.5) * held[:, None] / each).astype(np.int64)
        some = np.take_along_axis(past.sample, np.minimum(place, SAMPLED - 1), axis=1)
        return np.sort(some.reshape(rows, SAMPLED), axis=1)
