"""The finished jobs a predictor has learned from, by every key level, with their medians."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.array_types import Array, Floats, Ints
from prophase.profile.predict.back_off_keys import (
    ClusterColumns,
    Level,
    choose_levels,
    hash_columns,
    key_of,
)
from prophase.profile.predict.job_text import NO_TOKEN, TextColumns, hidden
from prophase.profile.predict.meaning_memory import MeaningMemory, Sentences
from prophase.profile.predict.memory import Keys, Memory, Recall, ranked
from prophase.profile.predict.submit_columns import (
    Columns,
    arrivals,
    is_number,
    limits,
    numbers,
    submitted,
)
from prophase.profile.predict.word_memory import WordMemory, WordRecall

#: a key that no job has
_UNSEEN = np.uint64(0x5DEECE66D)
_MIXED = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_DAY_S = 86_400.0
#: a queue of fewer owners tells what these did, not what an owner does who never ran in it
_FEWEST_OWNERS = 5
#: what an hour of the day means cannot be learned from fewer days
_FEWEST_DAYS = 7


@dataclass(frozen=True)
class Question:
    """Jobs to be answered for: keys per level, numbers of the request, when they came."""

    keys: tuple[Keys, ...]
    numbers: NDArray[np.float32]
    limit_s: Floats
    arrival: Floats
    #: outcomes that ended before this moment may be used for the answer
    as_of: Floats
    #: the jobs as they came, and the row of each job in them
    _jobs: pd.DataFrame | Columns
    places: NDArray[np.intp]
    #: hashed words of the job's texts
    tokens: Keys
    #: what the texts say, if an encoder reads them
    sentences: Sentences | None = None

    def __len__(self) -> int:
        return len(self.arrival)

    @property
    def table(self) -> pd.DataFrame:
        """Submit-time columns as they came; selected when asked for, since few methods do."""
        jobs = self._jobs.table() if isinstance(self._jobs, Columns) else self._jobs
        return submitted(jobs)

    def rows(self, chosen: NDArray[np.intp], as_of: Floats | None = None) -> Question:
        """Return some of the jobs, optionally asked as of other moments."""
        return Question(
            tuple(key[chosen] for key in self.keys),
            self.numbers[chosen],
            self.limit_s[chosen],
            self.arrival[chosen],
            self.as_of[chosen] if as_of is None else as_of,
            self._jobs,
            self.places[chosen],
            self.tokens[chosen],
            self.sentences.rows(chosen) if self.sentences is not None else None,
        )

    def different(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the first of all jobs that ask the same, and which of these each job is like."""
        mixed = np.zeros(len(self), dtype=np.uint64)
        columns = (*self.numbers.T, self.limit_s, self.arrival, self.as_of)
        if self.sentences is not None:
            columns += (self.sentences.which,)
        bits = (np.ascontiguousarray(one, dtype=np.float64).view(np.uint64) for one in columns)
        for part in (*self.keys, *self.tokens.T, *bits):
            mixed = (mixed ^ part) * _MIXED
            mixed ^= mixed >> _HALF
        code, names = pd.factorize(mixed)
        first = np.empty(len(names), dtype=np.intp)
        first[code[::-1]] = np.arange(len(code))[::-1]
        return first, code

    def put_in_order(self, rows: NDArray[np.intp]) -> None:
        """Change the order of all jobs in place: of a long history a second copy is much."""
        given = self.numbers, self.limit_s, self.arrival, self.as_of, self.places, self.tokens
        arrays: list[Array] = [*self.keys, *given]
        if self.sentences is not None:
            arrays += [self.sentences.which, self.sentences.strange]
        for array in arrays:
            array[:] = array[rows]

    def without(
        self, levels: tuple[Level, ...], rows: NDArray[np.bool_], columns: Sequence[str]
    ) -> Question:  # fmt: skip
        """Return the same jobs, some of them as if nobody had ever seen their columns' values."""
        unseen = set(columns)
        keys = tuple(
            np.where(rows, _UNSEEN, key) if unseen & set(level.columns) else key
            for key, level in zip(self.keys, levels, strict=True)
        )
        return replace(self, keys=keys)

    def with_few_words(self, rows: NDArray[np.bool_]) -> Question:
        """Return the same jobs, some of them as if most of their words had never been seen."""
        few = np.where(rows[:, None] & hidden(self.tokens), NO_TOKEN, self.tokens)
        said = self.sentences.with_few_texts(rows) if self.sentences is not None else None
        return replace(self, tokens=few, sentences=said)


class History:
    """Outcomes by key level; knows which columns it was built from."""

    #: the history is long enough to tell hours of the day apart
    tells_hours = True
    #: models of earlier versions read no words, and do not know who ran in a queue
    text = TextColumns(())
    meanings: MeaningMemory | None = None
    in_queue: _Owners | None = None

    def __init__(
        self, jobs: pd.DataFrame, *, shares: bool = False, text: bool = False,
        encoder: str | None = None,
    ) -> None:  # fmt: skip
        seen = submitted(jobs)
        arrival = arrivals(jobs)
        self.tells_hours = _days(arrival) >= _FEWEST_DAYS
        steady = steadily_recorded(seen, arrival)
        self.cluster = ClusterColumns.of(seen)
        levels = choose_levels(seen[steady], clusters=bool(self.cluster.usual))
        self.levels: tuple[Level, ...] = levels
        self.columns = sorted({column for level in self.levels for column in level.columns})
        self.number_columns = [
            name
            for name in map(str, seen)
            if is_number(seen, name) and seen[name].nunique(dropna=False) > 1
        ]
        self.memories = tuple(Memory() for _ in self.levels)
        self.text = TextColumns.of(seen[steady], arrival) if text else TextColumns(())
        self.words = WordMemory()
        self.meanings = MeaningMemory(encoder) if encoder and self.text.names else None
        self.shares = shares
        self.in_queue = _Owners() if self._queue_and_owner() is not None else None

    def __len__(self) -> int:
        return len(self.memories[0])

    def ask(self, jobs: pd.DataFrame | Columns, as_of: Floats | None = None) -> Question:
        """Turn jobs into a question; only submit-time columns are read."""
        # the history's columns are all known at submission: it was built from no others
        hashes = hash_columns(jobs, set(self.columns))
        cluster = self.cluster.keys(jobs)
        arrival = arrivals(jobs)
        clock = np.where(np.isfinite(arrival), arrival, np.nan) % _DAY_S
        columns = [numbers(jobs, name) for name in self.number_columns]
        # the hour of day means something only on a clock that went round several times
        timed = self.tells_hours and ("submit_s" in jobs or "start_s" in jobs)
        columns.append(clock if timed else clock * 0.0)
        if self.text.numbers:
            columns += list(self.text.values(jobs).T)
        return Question(
            keys=tuple(key_of(level, hashes, len(jobs), cluster) for level in self.levels),
            # as learning methods see them
            numbers=np.column_stack([column.astype(np.float32) for column in columns]),
            limit_s=limits(jobs),
            arrival=arrival,
            as_of=np.full(len(jobs), np.inf) if as_of is None else as_of,
            _jobs=jobs,
            places=np.arange(len(jobs)),
            tokens=self.text.tokens(jobs),
            sentences=self.meanings.read(*self.text.sentences(jobs)) if self.meanings else None,
        )

    def add(self, question: Question, ends: Floats, values: Floats) -> None:
        """Remember the outcomes of jobs."""
        ranks = ranked(ends)
        for memory, keys in zip(self.memories, question.keys, strict=True):
            memory.add(keys, ends, values, ranks)
        if self.text.names:
            self.words.add(question.tokens, ends, values)
        if self.meanings is not None and question.sentences is not None:
            self.meanings = self.meanings.own_copy()
            self.meanings.add(question.sentences, ends, values)
        levels = self._queue_and_owner()
        if self.in_queue is not None and levels is not None:
            queue, owner = (question.keys[level] for level in levels)
            self.in_queue = self.in_queue.with_jobs(queue, owner, ends)

    def of_others(self, question: Question, ends: Floats, values: Floats) -> History:
        """Return a history of the same levels and texts that knows these outcomes only."""
        made = copy.copy(self)
        made.forget()
        made.add(question, ends, values)
        return made

    def forget(self) -> None:
        """Forget all outcomes, not the levels."""
        self.memories = tuple(Memory() for _ in self.levels)
        self.words = WordMemory()
        self.meanings = MeaningMemory(self.meanings.encoder) if self.meanings else None
        self.in_queue = _Owners() if self.in_queue is not None else None

    def recall(self, question: Question) -> list[Recall]:
        """Return what each level knew, finest first."""
        found = [
            memory.recall(keys, question.as_of)
            for memory, keys in zip(self.memories, question.keys, strict=True)
        ]
        return [replace(part, shares=True) for part in found] if self.shares else found

    def counting(self, question: Question, recall: list[Recall]) -> list[Recall]:
        """Return what is recalled, without queues that too few owners have run jobs in."""
        levels = self._queue_and_owner()
        if self.in_queue is None or levels is None:
            return recall
        found, queue = list(recall), levels[0]
        few = self.in_queue.count(question.keys[queue], question.as_of) < _FEWEST_OWNERS
        found[queue] = replace(recall[queue], count=np.where(few, 0, recall[queue].count))
        return found

    def recall_words(self, question: Question, variance: float) -> WordRecall | None:
        """Return what jobs with the same words did; None if no column is read as text."""
        if not self.text.names:
            return None
        return self.words.recall(question.tokens, question.as_of, variance)

    def recall_meanings(self, question: Question, variance: float) -> WordRecall | None:
        """Return what jobs of nearest meaning did; None without an encoder."""
        if self.meanings is None or question.sentences is None:
            return None
        return self.meanings.recall(question.sentences, question.as_of, variance)

    def medians(self, level: int, question: Question) -> tuple[Floats, Floats]:
        """Return median (of yes or no: share) and count over all rows of a level's keys."""
        if self.shares:
            part = self.memories[level].recall(question.keys[level], question.as_of)
            return part.mean, part.count.astype(np.float64)
        memory, asked = self.memories[level], question.keys[level]
        return memory.medians(asked, question.as_of)

    def backed_off(self, question: Question, recall: list[Recall]) -> Floats:
        """Return the median over all finished jobs of the finest key that counts."""
        point = np.full(len(question), np.nan)
        for level, part in enumerate(self.counting(question, recall)):
            rows = np.flatnonzero(np.isnan(point) & (part.count > 0))
            if len(rows):
                point[rows], _ = self.medians(level, question.rows(rows))
        return point

    def level_of(self, *columns: str) -> int | None:
        """Return the place of the level with exactly these columns, if there is one."""
        wanted = set(columns)
        places = (i for i, level in enumerate(self.levels) if set(level.columns) == wanted)
        return next(places, None)

    def _queue_and_owner(self) -> tuple[int, int] | None:
        """Return the levels of the queue and of the owner, where a history has both."""
        queue = self.level_of("queue")
        owners = (self.level_of(column) for column in ("user", "group"))
        owner = next((level for level in owners if level is not None), None)
        return None if queue is None or owner is None else (queue, owner)


class _Owners:
    """How many owners have finished a job of a key, as of any moment.

    Examples
    --------
    >>> queue, owner = np.array([7, 7, 7], dtype=np.uint64), np.array([1, 2, 1], dtype=np.uint64)
    >>> held = _Owners().with_jobs(queue, owner, np.array([1.0, 5.0, 2.0]))
    >>> held.count(queue[:2], np.array([4.0, np.inf])).tolist()
    [1, 2]
    """

    def __init__(self) -> None:
        self._pairs = np.empty(0, np.uint64)
        #: the first job of each owner
        self._first = Memory()

    def with_jobs(self, keys: Keys, owners: Keys, ends: Floats) -> _Owners:
        """Return what is known with more jobs."""
        order = np.argsort(ends, kind="stable")
        pairs, first = np.unique((keys * _MIXED ^ owners)[order], return_index=True)
        new = ~np.isin(pairs, self._pairs)
        if not new.any():
            return self
        rows = order[first[new]]
        made = _Owners()
        made._pairs = np.concatenate([self._pairs, pairs[new]])
        made._first = copy.copy(self._first)
        made._first.add(keys[rows], ends[rows], np.zeros(len(rows)))
        return made

    def count(self, keys: Keys, as_of: Floats) -> Ints:
        """Return the number of owners of each key before each moment."""
        return self._first.moments(keys, as_of)[0]


def _days(arrival: Floats) -> float:
    """Return how many days a history spans, but for its outermost jobs."""
    came = arrival[np.isfinite(arrival)]
    begin, end = np.quantile(came, (0.05, 0.95)) if len(came) else (0.0, 0.0)
    return float(end - begin) / _DAY_S


#: the history is looked at in this many parts, of so many jobs at least
_PARTS = 5
_FEWEST = 30
#: shares of jobs without a value: the column is not recorded; it is
_NEARLY_ALL = 0.98
_RECORDED = 0.8


def steadily_recorded(seen: pd.DataFrame, arrival: Floats) -> list[str]:
    """Return the columns that were recorded from the beginning of a history to its end.

    Where a log begins to note, say, GPUs, a job that was "unknown" is "none" from then on,
    and no later job would share its key with an earlier one.

    Examples
    --------
    >>> gpus = [None] * 250 + [0.0, 1.0] * 25
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 150, "request_gpus": gpus})
    >>> steadily_recorded(jobs, np.arange(300.0))
    ['user']
    """
    names = [str(name) for name in seen]
    if len(seen) < _PARTS * _FEWEST:
        return names
    parts = np.array_split(np.argsort(arrival, kind="stable"), _PARTS)
    steady = []
    for name in names:
        missing = seen[name].isna().to_numpy()
        shares = [float(missing[part].mean()) for part in parts]
        begun_late = max(shares) > _NEARLY_ALL and min(shares) < _RECORDED
        # what nearly every job leaves out may have just begun to be recorded
        hardly_ever = _NEARLY_ALL < float(missing.mean()) < 1
        if not (begun_late or hardly_ever):
            steady.append(name)
    return steady
