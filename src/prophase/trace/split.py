"""Divide jobs into those a model learns from and those it is judged on.

``split_by_time`` is the honest one: it learns only from jobs that had *ended* when
the first judged job was submitted, as a model in service would. ``split_by_job`` and
``split_by_user`` keep what belongs together on one side. ``split_by_row`` ignores all
that and is there to compare with papers that did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.plural import counted

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """Row numbers of the two sides, and of what is on neither."""

    train: Rows
    test: Rows
    left_out: Rows
    #: how the rows were divided, in words
    rule: str
    #: what a reader of the result should know
    notes: tuple[str, ...] = ()
    #: first moment (or place in order) of the test side; None if time plays no part
    cut: float | None = None

    @property
    def test_share(self) -> float:
        """Share of the divided rows that are on the test side."""
        return len(self.test) / (len(self.train) + len(self.test))


def split_by_time(
    jobs: pd.DataFrame, cut: float | None = None, *, test_share: float | None = None
) -> Split:
    """Learn from what had ended before a moment, judge on what was submitted from it on.

    Rows submitted before the cut that had not ended by then are on neither side: their
    outcome was not known yet. Without submit times the start counts as arrival; without
    any clock the order of submission does, and the notes say so.

    Parameters
    ----------
    cut : float, optional
        First moment of the test side, on the table's own clock.
    test_share : float, optional
        Choose the cut so that about this share of the rows arrives from it on.

    Examples
    --------
    >>> jobs = pd.DataFrame({"submit_s": [0.0, 1.0, 2.0, 9.0], "end_s": [3.0, 9.9, 4.0, 12.0]})
    >>> split = split_by_time(jobs, cut=5.0)
    >>> split.train.tolist(), split.test.tolist(), split.left_out.tolist()
    ([0, 2], [3], [1])
    """
    if (cut is None) == (test_share is None):
        raise ParameterError("split_by_time needs either a cut or a test_share, and not both.")
    clock = _clock(jobs)
    if cut is None:
        assert test_share is not None
        cut = _cut_for(clock.arrival, _checked_share(test_share))
    if not np.isfinite(cut):
        raise ParameterError(f"cut is {cut}. Pass a moment between {clock.span}.")
    return _divide(clock, float(cut), np.inf)


def time_folds(jobs: pd.DataFrame, n: int) -> list[Split]:
    """Return ``n`` splits whose cuts move forward through time, for rolling evaluation.

    The rows are put into ``n + 1`` blocks of about equal size by arrival. Fold ``i`` is
    judged on block ``i + 1`` and learns from what had ended before that block begins.

    Examples
    --------
    >>> jobs = pd.DataFrame({"submit_s": np.arange(9.0), "end_s": np.arange(9.0) + 0.5})
    >>> [(len(fold.train), fold.test.tolist()) for fold in time_folds(jobs, 2)]
    [(3, [3, 4, 5]), (6, [6, 7, 8])]
    """
    if n < 1:
        raise ParameterError(f"time_folds: n is {n}. Ask for at least one fold.")
    clock = _clock(jobs)
    cuts = [_cut_for(clock.arrival, 1 - block / (n + 1)) for block in range(1, n + 1)]
    if len(set(cuts)) < n:
        raise ParameterError(
            f"time_folds: the rows arrive at too few moments for {n} folds. Ask for fewer."
        )
    ends = [*cuts[1:], np.inf]
    return [_divide(clock, cut, until) for cut, until in zip(cuts, ends, strict=True)]


def split_by_job(jobs: pd.DataFrame, test_share: float = 0.2, *, random_state: int = 0) -> Split:
    """Keep all rows of one job (``parent_id``, else ``job_id``) on the same side.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": list("abcd"), "parent_id": ["x", "x", "y", "y"]})
    >>> split = split_by_job(jobs, 0.5)
    >>> sorted([split.train.tolist(), split.test.tolist()])
    [[0, 1], [2, 3]]
    """
    _need(jobs, "job_id")
    keys, by = jobs["job_id"], "job_id"
    if "parent_id" in jobs and jobs["parent_id"].notna().any():
        keys, by = jobs["parent_id"].fillna(keys), "parent_id"
    return _by_group(keys, test_share, random_state, f"by job ({by})")


def split_by_user(jobs: pd.DataFrame, test_share: float = 0.2, *, random_state: int = 0) -> Split:
    """Keep all rows of one user on the same side: how well does it serve new users?

    Rows without a user are on neither side, since they may be anybody's.
    """
    _need(jobs, "user")
    return _by_group(jobs["user"], test_share, random_state, "by user")


def split_by_row(jobs: pd.DataFrame, test_share: float = 0.2, *, random_state: int = 0) -> Split:
    """Divide rows at random, as many papers do; flatters every model.

    Examples
    --------
    >>> split = split_by_row(pd.DataFrame({"job_id": list("abcde")}), 0.4)
    >>> len(split.train), len(split.test)
    (3, 2)
    """
    _checked_share(test_share)
    order = np.random.default_rng(random_state).permutation(len(jobs))
    count = round(test_share * len(jobs))
    return _checked(
        Split(
            train=np.sort(order[count:]),
            test=np.sort(order[:count]),
            left_out=np.empty(0, dtype=np.intp),
            rule=f"by row, seed {random_state}",
            notes=(
                "Rows of one job may be on both sides, and test rows may be older than train "
                "rows: use this split only to compare with results that used it.",
            ),
        )
    )


#: name on the command line -> split with a share and a seed
SEEDED_SPLITS: dict[str, Callable[..., Split]] = {
    "job": split_by_job,
    "user": split_by_user,
    "row": split_by_row,
}


@dataclass(frozen=True)
class _Clock:
    """When each row arrived and ended; NaN where that is not known."""

    arrival: NDArray[np.float64]
    end: NDArray[np.float64]
    name: str
    notes: tuple[str, ...]

    @property
    def span(self) -> str:
        known = self.arrival[~np.isnan(self.arrival)]
        return f"{known.min():.15g} and {known.max():.15g} ({self.name})"


def _clock(jobs: pd.DataFrame) -> _Clock:
    """Find out by which columns these rows can be put in time."""
    if len(jobs) == 0:
        raise InputError("the job table has no rows, so there is nothing to split.")
    submit, start = _numbers(jobs, "submit_s"), _numbers(jobs, "start_s")
    arrival = np.where(np.isnan(submit), start, submit)
    if not np.isnan(arrival).all():
        end, end_notes = _ends(jobs, submit, start)
        return _Clock(arrival, end, "submit_s", (*_arrival_notes(submit, arrival), *end_notes))
    order = _numbers(jobs, "submit_order")
    if np.isnan(order).all():
        raise MissingColumnError(
            "split_by_time needs submit_s, start_s or submit_order, and no row has one of them. "
            "Split by job instead."
        )
    note = (
        "There is no clock: rows are divided by submission order, and a train row may not have "
        "ended yet when the first test row was submitted."
    )
    # without a clock a row counts as known once the next one is submitted
    return _Clock(order, order, "submit_order", (note,))


def _ends(
    jobs: pd.DataFrame, submit: NDArray[np.float64], start: NDArray[np.float64]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return when each row ended; where only its run time is known, the earliest it can have."""
    end, run = _numbers(jobs, "end_s"), _numbers(jobs, "duration_s")
    end = np.where(np.isnan(end), start + run, end)
    earliest = np.where(np.isnan(end), submit + run, end)
    if np.isnan(earliest).all():
        raise MissingColumnError(
            "split_by_time needs end_s or duration_s to know what had ended before the cut, and "
            "no row has one of them. Split by job instead."
        )
    stand_in = int((np.isnan(end) & ~np.isnan(earliest)).sum())
    note = (
        f"{counted(stand_in, 'row has', 'rows have')} no start and no end: submission plus run "
        "time, the earliest possible end, stands in."
    )
    return earliest, (note,) if stand_in else ()


def _arrival_notes(submit: NDArray[np.float64], arrival: NDArray[np.float64]) -> tuple[str, ...]:
    stand_in = int((np.isnan(submit) & ~np.isnan(arrival)).sum())
    if stand_in == 0:
        return ()
    if np.isnan(submit).all():
        return ("There are no submit times: the start of a row counts as its arrival.",)
    rows = counted(stand_in, "row has", "rows have")
    return (f"{rows} no submit time: the start counts as arrival.",)


def _divide(clock: _Clock, cut: float, until: float) -> Split:
    """Put what ended before the cut on one side, what arrives in [cut, until) on the other."""
    arrival, end = clock.arrival, clock.end
    contradict = (arrival >= cut) & (end < cut)
    train = (end < cut) & ~(arrival >= cut)
    test = (arrival >= cut) & (arrival < until) & ~contradict
    reasons = {
        "arrived before the cut and had not ended by then": (arrival < cut) & (end >= cut),
        "arrived before the cut, with no known end": (arrival < cut) & np.isnan(end),
        "arrived after this fold": (arrival >= until) & ~contradict,
        "ended before arriving, by the clock": contradict,
        "without a time of arrival": np.isnan(arrival) & ~train,
    }
    notes = [
        f"{counted(int(rows.sum()), 'row')} {why}." for why, rows in reasons.items() if rows.any()
    ]
    split = Split(
        train=np.flatnonzero(train),
        test=np.flatnonzero(test),
        left_out=np.flatnonzero(~train & ~test),
        rule=f"by time: {clock.name} {cut:.15g}",
        notes=(*clock.notes, *notes),
        cut=cut,
    )
    return _checked(split, f": the rows arrive between {clock.span}, the cut is {cut:.15g}")


def _cut_for(arrival: NDArray[np.float64], share: float) -> float:
    """Return the arrival from which on about this share of the rows come."""
    known = np.sort(arrival[~np.isnan(arrival)])
    moments, first = np.unique(known, return_index=True)
    after = len(known) - first
    return float(moments[np.abs(after - share * len(known)).argmin()])


def _by_group(keys: pd.Series, test_share: float, random_state: int, rule: str) -> Split:
    """Give whole groups, in random order, to the test side until it has its share."""
    _checked_share(test_share)
    codes, names = pd.factorize(keys, sort=True)
    known = codes >= 0
    if len(names) < 2:
        raise InputError(
            f"a split {rule} needs at least two groups, but there is {len(names)}. "
            "Split by time or by row instead."
        )
    sizes = np.bincount(codes[known], minlength=len(names))
    order = np.random.default_rng(random_state).permutation(len(names))
    reached = np.cumsum(sizes[order])
    wanted = test_share * reached[-1]
    # the prefix nearest to the share; at least one group stays on each side
    count = 1 + int(np.abs(reached[:-1] - wanted).argmin())
    chosen = np.zeros(len(names), dtype=bool)
    chosen[order[:count]] = True
    in_test = known & chosen[codes]
    notes = []
    if not known.all():
        notes.append(f"{counted(int((~known).sum()), 'row')} without {rule.split()[1]} left out.")
    found = in_test.sum() / known.sum()
    if abs(found - test_share) > 0.05:
        largest = f"the largest group has {sizes.max() / sizes.sum():.0%} of the rows"
        notes.append(f"The test side has {found:.0%} instead of {test_share:.0%}: {largest}.")
    return Split(
        train=np.flatnonzero(known & ~in_test),
        test=np.flatnonzero(in_test),
        left_out=np.flatnonzero(~known),
        rule=f"{rule}, seed {random_state}",
        notes=tuple(notes),
    )


def _numbers(jobs: pd.DataFrame, column: str) -> NDArray[np.float64]:
    if column not in jobs:
        return np.full(len(jobs), np.nan)
    return jobs[column].to_numpy(dtype=float, na_value=np.nan)


def _need(jobs: pd.DataFrame, column: str) -> None:
    if column not in jobs or jobs[column].isna().all():
        raise MissingColumnError(
            f"this split needs the column {column}, which no row of the table has. "
            "Choose another split: time, job, user or row."
        )


def _checked_share(share: float) -> float:
    if not 0 < share < 1:
        raise ParameterError(
            f"test_share is {share}, but lies between 0 and 1. Pass a share such as 0.2."
        )
    return share


def _checked(split: Split, why: str = "") -> Split:
    for side, rows in (("train", split.train), ("test", split.test)):
        if len(rows) == 0:
            raise ParameterError(
                f"the split {split.rule} leaves the {side} side empty{why}. "
                "Choose another cut or share."
            )
    return split
