"""What each expert says of a job: equally likely outcomes, of forests and of plain memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from prophase.array_types import Bools, Floats, Ints
from prophase.profile.predict.history import Question
from prophase.profile.predict.leaf_forest import LeafForest
from prophase.profile.predict.memory import RECENT, SAMPLED, Recall
from prophase.profile.predict.point_and_range import finest
from prophase.profile.predict.pooled_distribution import evenly
from prophase.profile.predict.training_features import recent_backoff, shrunk
from prophase.profile.predict.word_memory import WordRecall

#: weights of the experts before any outcome is known
PRIOR = {
    "outcome": 3.0,
    "from_shrunk": 3.0,
    "from_recent": 3.0,
    "from_limit": 3.0,
    "from_words": 3.0,
    "boosted": 9.0,
    "key": 1.0,
    "key_lately": 1.0,
    "words": 1.0,
    "meaning": 1.0,
    "user": 1.0,
    "all": 1.0,
    "all_lately": 1.0,
}
FORESTS = ("outcome", "from_shrunk", "from_recent", "from_limit", "from_words")
#: how often the finest key was seen decides whose opinion counts: once or twice, a few times,
#: often, very often
FAMILIAR = (3, 12, 60)

#: outcomes of some rows: how many of each
Expert = Callable[[Ints, int], Floats]
#: values in order of size, and how many of each row are known
Remembered = tuple[Floats, Ints]


def of_forests(
    forests: Mapping[str, LeafForest], data: Any, bases: Mapping[str, Floats], question: Question,
    floor: float,
) -> dict[str, Expert]:  # fmt: skip
    """Return what each forest says; ``floor`` is the shortest outcome there is."""
    told = {
        name: outcomes + bases[name][:, None]
        for name, outcomes in LeafForest.outcomes_of(forests, data).items()
    }
    if "from_limit" in told:
        # how far from its limit a job ends says nothing of one that has none; and jobs with far
        # larger limits do not say that one with a small limit is over before it has begun
        given = _has_limit(question)[:, None]
        ends = np.maximum(told["from_limit"], np.log(floor))
        told["from_limit"] = np.where(given, ends, told["from_shrunk"])
    return {name: of_outcomes(outcomes) for name, outcomes in told.items()}


def of_memories(
    recall: list[Recall], owner: int | None, alike: Mapping[str, WordRecall | None]
) -> dict[str, Expert]:
    """Return what each memory says: ``owner`` is the user's level, ``alike`` those of texts."""
    whole = recall[-1]
    everything = whole.sample, np.minimum(whole.count, SAMPLED)
    lately = np.sort(whole.values, axis=1), np.minimum(whole.count, RECENT)
    key, key_lately = _of_finest_key(recall)
    own = recall[owner] if owner is not None else whole
    user = _or_else(own.sample, own.count > 0, np.minimum(own.count, SAMPLED), everything)
    memories: dict[str, Remembered] = {
        "key": key, "key_lately": key_lately, "user": user, "all": everything,
        "all_lately": lately,
    }  # fmt: skip
    for name, told in alike.items():
        if told is not None:
            memories[name] = _or_else(told.sample, told.known, SAMPLED, everything)
    return {name: _of_memory(*memory) for name, memory in memories.items()}


def of_outcomes(outcomes: Floats) -> Expert:
    """Return some of equally likely outcomes, which lie in the order of a forest's trees."""
    held = outcomes.shape[1]

    def some(rows: Ints, count: int) -> Floats:
        chosen = ((np.arange(count) + 0.5) * held / count).astype(int)
        return np.asarray(outcomes[rows[:, None], chosen])

    return some


def of_rows(expert: Expert, rows: Ints) -> Callable[[int], Floats]:
    """Return what an expert says of some rows."""
    return lambda count: expert(rows, count)


def bases(
    question: Question, recall: list[Recall], words: WordRecall | None
) -> Mapping[str, Floats]:  # fmt: skip
    """Return what each forest's outcomes are measured from."""
    pulled, recent = shrunk(recall), recent_backoff(recall)
    known = _has_limit(question)
    # jobs without a limit are measured from what is usual, which keeps the scale
    from_limit = np.where(known, np.log(np.where(known, question.limit_s, 1.0)), pulled)
    found = {
        "outcome": np.zeros(len(pulled)),
        "from_shrunk": np.nan_to_num(pulled),
        "from_recent": np.nan_to_num(recent),
        "from_limit": np.nan_to_num(from_limit),
    }
    if words is not None:
        found["from_words"] = np.nan_to_num(np.where(words.known, words.mean, pulled))
    return found


def familiarity(recall: list[Recall]) -> Ints:
    """Return 0, 1, ... by how many finished jobs share the finest key that has any."""
    _, count = finest(recall)
    return np.digitize(count, FAMILIAR)


def _has_limit(question: Question) -> Bools:
    return np.isfinite(question.limit_s) & (question.limit_s > 0)


def _of_memory(ordered: Floats, held: Ints) -> Expert:
    return lambda rows, count: evenly(ordered[rows], held[rows], count)


def _or_else(sample: Floats, known: Bools, held: Ints | int, others: Remembered) -> Remembered:
    """Return what is remembered, and of rows of which nothing is, what is of all jobs."""
    return np.where(known[:, None], sample, others[0]), np.where(known, held, others[1])


def _of_finest_key(recall: list[Recall]) -> tuple[Remembered, Remembered]:
    """Return the past of the finest key that has any, all along and lately, in order of size."""
    place, held = finest(recall)
    rows = np.arange(len(place))
    whole = np.array([part.sample for part in recall])[place, rows]
    recent = np.sort(np.array([part.values for part in recall])[place, rows], axis=1)
    return (whole, np.minimum(held, SAMPLED)), (recent, np.minimum(held, RECENT))
