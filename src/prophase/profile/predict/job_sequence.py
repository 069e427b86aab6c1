"""Put the jobs to learn from and those to be judged on one clock, as a service would see them.

Two files of a trace, say May and June, hide two traps. Jobs of May that ran into June had not
ended when June began; counted as known, they make the latest outcomes all long ones. And
where jobs are only numbered, both files begin with number one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.plural import counted
from prophase.profile.predict.submit_columns import arrivals, ends, numbers

#: that share of the train jobs came before the first test job if the sides follow one another
_NEARLY_ALL = 0.99
#: with fewer jobs that had ended, all are learned from
_FEWEST_ENDED = 10


@dataclass(frozen=True)
class JobSequence:
    """Jobs known before the first test job came, those that ended later, and the test jobs."""

    known: pd.DataFrame
    later: pd.DataFrame
    test: pd.DataFrame
    #: what a reader of the result should know
    notes: tuple[str, ...]


def in_sequence(train: pd.DataFrame, test: pd.DataFrame) -> JobSequence:
    """Return both sides as they would have become known.

    Examples
    --------
    >>> may = pd.DataFrame({"submit_s": [float(t) for t in range(20)], "duration_s": 5.0})
    >>> june = pd.DataFrame({"submit_s": [20.0, 21.0], "duration_s": 5.0})
    >>> found = in_sequence(may, june)
    >>> len(found.known), len(found.later)
    (15, 5)
    """
    notes: list[str] = []
    if _only_numbered(train) and _only_numbered(test):
        first, second = numbers(train, "submit_order"), numbers(test, "submit_order")
        if np.isin(second, first).mean() > 0.5:
            test = test.assign(submit_order=second - np.nanmin(second) + np.nanmax(first) + 1)
            notes.append("There is no clock: test jobs count as submitted after all train jobs.")
    came, ended = arrivals(train), ends(train)
    begin = arrivals(test).min()
    follow = np.isfinite(begin) and bool((came < begin).mean() >= _NEARLY_ALL)
    known = ended < begin
    if not follow or known.all() or known.sum() < _FEWEST_ENDED:
        return JobSequence(train, train[:0], test, tuple(notes))
    rows = counted(int((~known).sum()), "train job had", "train jobs had")
    notes.append(f"{rows} not ended when the first test job came, and did not count as known then.")
    return JobSequence(train[known], train[~known], test, tuple(notes))


def _only_numbered(jobs: pd.DataFrame) -> bool:
    clocks = (numbers(jobs, name) for name in ("submit_s", "start_s"))
    timed = any(bool(np.isfinite(clock).any()) for clock in clocks)
    return not timed and bool(np.isfinite(numbers(jobs, "submit_order")).any())
