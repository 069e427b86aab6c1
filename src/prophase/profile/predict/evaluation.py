"""Judge methods on jobs they have not trained on, all on the same ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.profile.predict.error_measures import measure
from prophase.profile.predict.job_model import learn_all
from prophase.profile.predict.learnable import learnable
from prophase.profile.predict.submit_columns import arrivals, ends, is_yes_no, numbers, outcomes


@dataclass(frozen=True)
class Evaluation:
    """Measures of each method, and the answers they are taken from."""

    target: str
    train_jobs: int
    test_jobs: int
    online: bool
    #: method -> measures, as :func:`~prophase.profile.predict.error_measures.measure` returns them
    methods: dict[str, JsonObject]
    answers: dict[str, pd.DataFrame]
    #: what a reader of the measures should know
    notes: tuple[str, ...] = ()


def evaluate(
    train: pd.DataFrame,
    test: pd.DataFrame,
    methods: Sequence[str],
    *,
    target: str = "duration_s",
    online: bool = False,
    ordered: bool = False,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Fit each method on ``train`` and judge it on ``test``.

    Parameters
    ----------
    train, test : DataFrame
        Job tables. If ``test`` follows ``train`` in time, train jobs that had not ended when
        the first test job came are not trained on: nobody knew their outcome.
    online : bool
        Each test job is answered as of its submission, and every job that had ended before
        counts, test jobs among them. Otherwise nothing is learned after ``train``.
    ordered : bool
        Answers have a column ``order_by``, the number that a scheduler ranks jobs by.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "user": ["ann", "bob"] * 50,
    ...         "submit_s": range(100),
    ...         "end_s": [t + 0.5 for t in range(100)],
    ...         "duration_s": [60.0, 600.0] * 50,
    ...     }
    ... )
    >>> found = evaluate(jobs[:80], jobs[80:], ["user-median"])
    >>> found.methods["user-median"]["within_20_pct"]
    100.0
    """
    train, left_out = learnable(train)
    sides = in_sequence(train, test)
    yes_no = is_yes_no(sides.test, target)
    outcome = outcomes(sides.test, target)
    judged = sides.test[outcome >= 0 if yes_no else outcome > 0]
    if len(judged) == 0:
        raise InputError(
            f"no test job has a {'known' if yes_no else 'positive'} {target} to judge answers by. "
            "Choose another target."
        )
    judged = judged.iloc[arrivals(judged).argsort(kind="stable")]
    measured, answers = {}, {}
    for name in methods:
        if progress is not None:
            progress(name)
        began = time.perf_counter()
        model = learn_all(sides.known, [target], method=name, random_state=random_state)
        fitted = time.perf_counter()
        if online:
            # what ends later than a job's submission stays hidden from it
            model.update(pd.concat([sides.later, judged]))
        asked = time.perf_counter()
        as_of: Literal["submit"] | None = "submit" if online else None
        found = model.predict(judged, [target], as_of, ordered=ordered)
        answered = time.perf_counter()
        measured[name] = {
            **measure(
                outcomes(judged, target),
                found,
                time_s=judged["submit_s"].to_numpy(float) if "submit_s" in judged else None,
                yes_no=yes_no,
                random_state=random_state,
            ),
            "fit_seconds": fitted - began,
            "predict_seconds": answered - asked,
        }
        answers[name] = found
    notes = (*left_out, *sides.notes)
    return Evaluation(target, len(sides.known), len(judged), online, measured, answers, notes)


# Put the jobs to learn from and those to be judged on one clock, as a service would see them.
#
# Two files of a trace, say May and June, hide two traps. Jobs of May that ran into June had not
# ended when June began; counted as known, they make the latest outcomes all long ones. And
# where jobs are only numbered, both files begin with number one.

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
