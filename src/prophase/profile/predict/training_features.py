"""What learning methods see of a job, and which finished jobs they are shown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from prophase.array_types import Floats, Ints
from prophase.profile.predict.back_off_keys import FOLDED, Level
from prophase.profile.predict.history import Question
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.word_memory import WordRecall

_SHORT = 5
#: with more jobs it is as quick, and takes less memory, to go level by level
_FEW = 16
_WHOLE_PAST = (0.1, 0.5, 0.9)


def features(question: Question, recall: list[Recall], words: WordRecall | None = None) -> Floats:
    """Return one row per job; everything in it was known at ``question.as_of``."""
    if recall[-1].shares:
        # which of the last few were true is mostly chance, and would be learned as if it were not
        return np.column_stack([shrunk(recall), question.numbers]).astype(np.float32)
    if len(question) <= _FEW:
        columns = _of_all_levels(recall, question.arrival)
    else:
        columns = [one for part in recall for one in _of_level(part, question.arrival)]
    columns += [recent_backoff(recall), shrunk(recall)]
    if words is not None:
        columns += words.features()
    return np.column_stack([*columns, question.numbers]).astype(np.float32)


def _of_level(part: Recall, arrival: Floats) -> list[Floats]:
    """Return what one level remembers, a column each."""
    age = arrival - part.newest
    return [
        np.log1p(part.count),
        part.middle(),
        part.middle(_SHORT),
        part.values[:, 0],
        part.mean,
        part.spread(8),
        *(part.quantile(q) for q in _WHOLE_PAST),
        np.where(np.isfinite(age), np.log1p(np.maximum(age, 0.0)), np.nan),
    ]


def _of_all_levels(recall: list[Recall], arrival: Floats) -> list[Floats]:
    """Return the columns of every level, computed together: for a few jobs, calls cost most."""
    levels, rows = len(recall), len(arrival)
    whole = Recall.joined(recall)
    found = [one.reshape(levels, rows) for one in _of_level(whole, np.tile(arrival, levels))]
    whole.share_middles(recall)
    return [one[level] for level in range(levels) for one in found]


def recent_backoff(recall: list[Recall], most: int = _SHORT) -> Floats:
    """Return the median of the latest rows of the finest key that has any."""
    middles = np.array([part.middle(most) for part in recall])
    place = np.argmax(~np.isnan(middles), axis=0)
    return np.asarray(middles[place, np.arange(len(place))])


def shrunk(recall: list[Recall], pull: float = 1.0, most: int = 8) -> Floats:
    """Return each key's median, pulled towards that of the next coarser level.

    A key with ``n`` rows (``most`` at best) weighs ``n / (n + pull)`` against its parent.
    """
    counts = np.array([part.count for part in recall])
    own = np.array([part.middle() for part in recall])
    weight = np.minimum(counts, most)
    lasting, share, none = weight * own, weight + pull, counts == 0
    point = np.full(counts.shape[1], np.nan)
    for level in reversed(range(len(recall))):
        mixed = (lasting[level] + pull * point) / share[level]
        mixed = np.where(np.isnan(point), own[level], mixed)
        point = np.where(none[level], point, mixed)
    return point


# Which finished jobs a learner is shown, and how much of the past each may see.
#
# Half of them are asked as of their own submission, as in service with every outcome at once.
# The other half are asked as of some time before, so that the learner also knows how much an
# old memory is worth.


#: lessons of a part; of a longer history each part of the forests learns from other jobs
PART = 20_000
#: the first jobs have hardly any past to learn from
_BURN_IN = 0.1


#: who a job is of and what it runs; the rest of a key says what it asks for
_WORDS = ("name", FOLDED, "user", "group", "workload", "task", "queue")
_OWN = _WORDS[:-1]
#: share of the lessons in which some of that is new
_STRANGERS = 0.2


def strangers(
    question: Question, levels: tuple[Level, ...], random_state: int, share: float = _STRANGERS
) -> Question:  # fmt: skip
    """Return the jobs, a share of them as if of an unknown owner, application or cluster.

    What a job of a newcomer does is asked every day, and hardly ever seen in a history whose
    newcomers are long known.
    """
    columns = {column for level in levels for column in level.columns}
    words = [word for word in _WORDS if word in columns]
    if not words:
        return question
    draw = np.random.default_rng(random_state)
    chosen = draw.random(len(question)) < share
    kind, word = draw.integers(0, 3, len(question)), draw.integers(0, len(words), len(question))
    attributes = [column for column in columns if column.startswith("attr_")]
    if question.tokens.shape[1]:
        question = question.with_few_words(chosen)
    question = question.without(levels, chosen & (kind == 0), [w for w in words if w in _OWN])
    question = question.without(levels, chosen & (kind == 1), words + attributes)
    for place, one in enumerate(words):
        question = question.without(levels, chosen & (kind == 2) & (word == place), [one])
    return question


def lessons(
    question: Question, values: Floats, random_state: int, most: int = PART, parts: int = 1,
    among: Ints | None = None,
) -> Iterator[tuple[Question, Floats]]:  # fmt: skip
    """Yield parts of the jobs to learn from, each in order of arrival, and their outcomes.

    No job is in two parts, and together they are at most ``most`` jobs, ``among`` some if given.
    """
    draw = np.random.default_rng(random_state)
    count = len(question) if among is None else len(among)
    rows = np.arange(int(_BURN_IN * count), count)
    came = question.arrival
    if among is not None:
        rows, came = among[rows], came[among]
    if len(rows) > most:
        rows = draw.choice(rows, most, replace=False)
    elif parts > 1:
        rows = draw.permutation(rows)
    begin, span = (float(came[0]), float(np.ptp(came))) if count else (0.0, 0.0)
    del came
    for some in np.array_split(rows, parts):
        chosen = np.sort(some)
        arrival = question.arrival[chosen]
        fresh = draw.random(len(chosen)) < 0.5
        lag = np.where(fresh, 0.0, span * 10 ** draw.uniform(-3.0, -0.3, len(chosen)))
        # a job asked as of before the first outcome would teach nothing
        as_of = np.maximum(arrival - lag, np.minimum(arrival, begin + 0.05 * span))
        yield question.rows(chosen, as_of), values[chosen]
