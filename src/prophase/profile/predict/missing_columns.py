"""Answers for jobs that lack usual columns: finished jobs stand in for what they do not say.

A method has hardly ever seen a job without a queue or a request, so leaving such a column
out would ask it something it never learned. Instead, the column is filled from finished jobs
that agree with what the job does say, and the answers are put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.array_types import Array, Floats
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.range_probability import beside_own, put_together_each
from prophase.profile.predict.submit_columns import CLOCKS, Columns, submitted

#: recent jobs that are kept
_MOST_KEPT = 2_000
#: a column that more jobs than this leave out may be left out
_OFTEN_MISSING = 0.2


@dataclass(frozen=True)
class Exemplars:
    """Submit-time columns of some recent jobs, latest last.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann", "bob", "ann"], "task": ["ps", "ps", "worker"]})
    >>> exemplars = Exemplars.of(jobs, ["user", "task"])
    >>> exemplars.filled({"user": "bob"}, most=1)
    [{'user': 'bob', 'task': 'ps'}]
    """

    columns: dict[str, Array]
    #: how much agreement in a column weighs
    weights: dict[str, float]

    @classmethod
    def of(cls, history: pd.DataFrame, columns: Sequence[str]) -> Exemplars:
        """Keep the most recent jobs of a history."""
        seen = submitted(history)
        seen = seen[[name for name in map(str, seen) if name in columns]]
        usual = [name for name in seen if seen[name].isna().mean() <= _OFTEN_MISSING]
        kept = seen[-_MOST_KEPT:]
        held = {}
        for name in usual:
            values = np.array(kept[name].to_numpy(dtype=object), dtype=object)
            values[pd.isna(values)] = None
            held[str(name)] = values
        # a user says more about a job than one of three sizes
        weights = {name: float(np.log1p(seen[name].nunique())) for name in held}
        return cls(held, weights)

    def joined(self, finished: pd.DataFrame) -> Exemplars:
        """Return these jobs and more recent ones."""
        held = {}
        for name, values in self.columns.items():
            more = np.full(len(finished), None, dtype=object)
            if name in finished:
                more[:] = finished[name].to_numpy(dtype=object)
                more[pd.isna(more)] = None
            held[name] = np.concatenate([values, more])[-_MOST_KEPT:]
        return Exemplars(held, self.weights)

    def lacking(self, job: Mapping[str, object]) -> list[str]:
        """Return the columns that jobs usually have and this one does not say."""
        return [name for name in self.columns if job.get(name) is None]

    def filled(self, job: JsonMapping, *, most: int) -> list[JsonObject]:
        """Return the job as often as there are jobs like it, with its gaps filled from each."""
        lacking = self.lacking(job)
        rows = len(next(iter(self.columns.values()), ()))
        if not lacking or not rows:
            return [dict(job)]
        score = np.zeros(rows)
        for name, held in self.columns.items():
            if name not in lacking:
                score += self.weights[name] * (held == job[name])
        order = np.lexsort((np.arange(rows), score))[::-1]
        if not score.any():
            # nothing agrees: the latest jobs would be one burst of one user
            back = np.geomspace(1, rows, min(most, rows)).astype(np.intp)
            order = order[np.unique(back - 1)]
        order = order[:most]
        # those that agree much less than the best are other kinds of job
        alike = order[score[order] >= 0.7 * score[order[0]]]
        return [{**job, **{name: self.columns[name][place] for name in lacking}} for place in alike]


# Answers to jobs of a table that lacks columns which jobs usually have.
#
# Such a column is filled from finished jobs like each one, several times, and the answers to
# the filled jobs are put together, as for a single job that leaves something out.


#: finished jobs that stand in for what one job does not say, and for all jobs of a table
_MOST_EACH = 16
_MOST = 20_000
_FEWEST_EACH = 2


@dataclass(frozen=True)
class FilledTable:
    """Jobs that differ in what they say, each several times with its gaps filled."""

    jobs: Columns
    #: which of the different jobs a filled row stands for
    stands_for: NDArray[np.intp]
    #: which of the different jobs a row of the table is
    kind: NDArray[np.intp]

    def answers(
        self, predictor: Predictor, asked: pd.DataFrame | Columns, as_of: Floats | None = None,
        *, ordered: bool = False,
    ) -> dict[str, Array]:  # fmt: skip
        """Return the predictor's answers to the jobs ``asked``, which were filled.

        How well a job is known is decided by what it says itself.
        """
        found = predictor.answers(asked, as_of, ordered=ordered)
        moment = None if as_of is None else as_of[self.stands_for]
        answers = predictor.answers(self.jobs, moment, ordered=ordered)
        ends = filled_ends(predictor, found, answers, self.stands_for, self.kind)
        silent = found["abstained"]
        for name, end in zip(("value", "low", "high"), ends, strict=True):
            found[name] = np.where(silent, np.nan, end)
        if ordered:
            mean = pd.Series(answers["order_by"]).groupby(self.stands_for).mean().to_numpy(float)
            found["order_by"] = np.where(silent, np.nan, mean[self.kind])
        return found


def filled_ends(
    predictor: Predictor, own: Mapping[str, Array], filled: Mapping[str, Array],
    stands_for: NDArray[np.intp], kind: NDArray[np.intp],
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return point and range of jobs: of their own answers, and of those of the filled jobs.

    ``stands_for`` is the kind of job that each filled one is, ``kind`` that of each job.
    """
    names = ("value", "low", "high")
    if predictor.yes_no_:
        columns = pd.DataFrame({name: filled[name] for name in names})
        means = columns.groupby(stands_for).mean().to_numpy(dtype=np.float64)[kind]
        return means[:, 0], means[:, 1], means[:, 2]
    together = put_together_each({name: filled[name] for name in names}, stands_for)
    value, low, high = beside_own(own, *(end[kind] for end in together))
    return predictor.bounds_.recorded(value, low, high)


def absent_columns(exemplars: Exemplars, jobs: pd.DataFrame | Columns) -> list[str]:
    """Return the columns that jobs usually have and no job of a table says."""
    return [name for name in exemplars.columns if name not in jobs or _is_empty(jobs[name])]


def fill_table(
    exemplars: Exemplars, jobs: pd.DataFrame | Columns, *, apart: bool = False
) -> FilledTable | None:
    """Return the jobs of a table with absent columns filled; None if none is absent.

    Jobs that say the same are filled once, or each ``apart`` if they are asked at other moments.
    """
    absent = absent_columns(exemplars, jobs)
    said = [name for name in exemplars.columns if name not in absent]
    if not absent or not said or not len(jobs):
        return None
    clocks = [name for name in (*CLOCKS, "start_s") if name in jobs]
    others = [str(name) for name in jobs.columns if name not in absent and name not in clocks]
    kind = first = np.arange(len(jobs))
    if not apart:
        kind, first = _different(jobs, said)
    held = {name: _values(jobs[name], first) for name in (*others, *clocks)}
    each = int(np.clip(_MOST // len(first), _FEWEST_EACH, _MOST_EACH))
    rows, stands_for = [], []
    for place in range(len(first)):
        job = {name: held[name][place] for name in others}
        clock = {name: held[name][place] for name in clocks}
        # a gap that some jobs of the table have is left as it is
        gaps = {name: None for name in said if job[name] is None}
        for filled in exemplars.filled(job, most=each):
            rows.append({**filled, **gaps, **clock})
            stands_for.append(place)
    return FilledTable(Columns.of(rows), np.array(stands_for, dtype=np.intp), kind)


def _values(column: pd.Series | Array, rows: NDArray[np.intp]) -> list[object]:
    """Return what some rows of a column hold, None where that is not known."""
    held = np.asarray(column, dtype=object)[rows]
    return [None if missing else value for value, missing in zip(held, pd.isna(held), strict=True)]


def _is_empty(column: pd.Series | Array) -> bool:
    # mostly the first value decides, and one job is to be answered within milliseconds
    held = column if isinstance(column, np.ndarray) else column.array
    first_is_known = len(held) > 0 and not pd.isna(held[0])
    return not first_is_known and bool(pd.isna(held).all())


def _different(
    jobs: pd.DataFrame | Columns, columns: list[str]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which distinct job each row is by the columns, and the first row of each."""
    if isinstance(jobs, Columns):
        if len(jobs) == 1:
            return np.zeros(1, np.intp), np.zeros(1, np.intp)
        jobs = jobs.table()
    groups = jobs.groupby(columns, dropna=False, sort=False, observed=True)
    kind = np.asarray(groups.ngroup(), dtype=np.intp)
    _, first = np.unique(kind, return_index=True)
    return kind, first.astype(np.intp)
