"""Whole owners or applications left out in turn, to learn what to say of those that never ran."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from prophase.array_types import Ints
from prophase.profile.predict.back_off_keys import Keys
from prophase.profile.predict.history import History, Question

#: columns of which whole values are left out, one of them; how many jobs a value has to count, how
#: many such values it has at least, and in how many turns they are left out
_COLUMNS = ("workload", "group", "user")
_FEWEST_JOBS, _FEWEST_OWNERS, _TURNS = 10, 3, 5
#: jobs that are judged in all turns, and that the forests of a turn learn from
_MOST_JUDGED, _MOST_OTHERS = 3_000, 10_000


def owner_level(history: History, question: Question) -> int | None:
    """Return the level whose keys are left out in turn: the coarsest that has several.

    Only names that are read as text tell something of strangers; without them there is none.
    """
    if not history.text.names:
        return None
    found: list[tuple[int, int]] = []
    for column in _COLUMNS:
        level = history.level_of(column)
        if level is not None:
            _, jobs = np.unique(question.keys[level], return_counts=True)
            owners = int((jobs >= _FEWEST_JOBS).sum())
            if owners >= _FEWEST_OWNERS:
                found.append((owners, level))
    return min(found)[1] if found else None


def turns(keys: Keys, random_state: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield the jobs of all other owners, and those that are judged of the owners left out.

    Examples
    --------
    >>> keys = np.array([1, 1, 2, 2, 2], dtype=np.uint64)
    >>> [(others.tolist(), left_out.tolist()) for others, left_out in turns(keys, 0)]
    [([0, 1], [2, 3, 4]), ([2, 3, 4], [0, 1])]
    """
    owners, code, jobs = np.unique(keys, return_inverse=True, return_counts=True)
    turn, held = np.empty(len(owners), dtype=np.int64), np.zeros(min(len(owners), _TURNS))
    for owner in np.argsort(-jobs, kind="stable").tolist():
        turn[owner] = int(np.argmin(held))
        held[turn[owner]] += jobs[owner]
    draw = np.random.default_rng(random_state)
    # as many jobs of each: those of one owner are alike
    order = draw.permutation(len(keys))
    rank = pd.Series(code[order]).groupby(code[order]).cumcount().to_numpy()
    each = -(-(_MOST_JUDGED // 2) // len(owners))
    judged = np.zeros(len(keys), dtype=np.bool_)
    judged[order[rank < each][:_MOST_JUDGED]] = True
    for place in range(len(held)):
        others = np.flatnonzero(turn[code] != place)
        left_out = np.flatnonzero((turn[code] == place) & judged)
        if len(others) > _MOST_OTHERS:
            others = np.sort(draw.choice(others, _MOST_OTHERS, replace=False))
        yield others, left_out
