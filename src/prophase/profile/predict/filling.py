"""Answers to jobs of a table that lacks columns which jobs usually have.

Such a column is filled from finished jobs like each one, several times, and the answers to
the filled jobs are put together, as for a single job that leaves something out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.profile.predict.chances import put_together_each
from prophase.profile.predict.exemplars import Exemplars
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.submitted import CLOCKS

#: finished jobs that stand in for what one job does not say, and for all jobs of a table
_MOST_EACH = 16
_MOST = 20_000
_FEWEST_EACH = 2


@dataclass(frozen=True)
class FilledTable:
    """Jobs that differ in what they say, each several times with its gaps filled."""

    jobs: pd.DataFrame
    #: which of the different jobs a filled row stands for
    stands_for: NDArray[np.intp]
    #: which of the different jobs a row of the table is
    kind: NDArray[np.intp]

    def answers(self, predictor: Predictor, asked: pd.DataFrame) -> pd.DataFrame:
        """Return the predictor's answers to the table ``asked``, which was filled.

        How well a job is known is decided by what it says itself.
        """
        found = predictor.predict(asked)
        filled = predictor.predict(self.jobs)
        if predictor.yes_no_:
            means = filled.groupby(self.stands_for)[["value", "low", "high"]].mean()
            ends = means.to_numpy(dtype=np.float64).T
        else:
            ends = np.stack(put_together_each(filled, self.stands_for))
        silent = found["abstained"].to_numpy(dtype=bool)
        for name, end in zip(("value", "low", "high"), ends, strict=True):
            found[name] = np.where(silent, np.nan, end[self.kind])
        return found


def absent_columns(exemplars: Exemplars, jobs: pd.DataFrame) -> list[str]:
    """Return the columns that jobs usually have and no job of a table says."""
    return [name for name in exemplars.columns if name not in jobs or _is_empty(jobs[name])]


def fill_table(exemplars: Exemplars, jobs: pd.DataFrame) -> FilledTable | None:
    """Return the jobs of a table with absent columns filled; None if none is absent."""
    absent = absent_columns(exemplars, jobs)
    said = [name for name in exemplars.columns if name not in absent]
    if not absent or not said or not len(jobs):
        return None
    clocks = [name for name in (*CLOCKS, "start_s") if name in jobs]
    others = [str(name) for name in jobs if name not in absent and name not in clocks]
    different = jobs[others].astype(object).where(jobs[others].notna(), None)
    kind, first = _different(jobs, said)
    each = int(np.clip(_MOST // len(first), _FEWEST_EACH, _MOST_EACH))
    rows, stands_for = [], []
    for place, row in enumerate(first.tolist()):
        job = {str(name): value for name, value in different.iloc[row].items()}
        clock = {name: jobs[name].iloc[row] for name in clocks}
        # a gap that some jobs of the table have is left as it is
        gaps = {name: None for name in said if job[name] is None}
        for filled in exemplars.filled(job, most=each):
            rows.append({**filled, **gaps, **clock})
            stands_for.append(place)
    return FilledTable(pd.DataFrame(rows), np.array(stands_for, dtype=np.intp), kind)


def _is_empty(column: pd.Series) -> bool:
    # mostly the first value tells, and one job is to be answered within milliseconds
    first_is_known = len(column) > 0 and not pd.isna(column.array[0])
    return not first_is_known and bool(column.isna().all())


def _different(jobs: pd.DataFrame, columns: list[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which distinct job each row is by the columns, and the first row of each."""
    groups = jobs.groupby(columns, dropna=False, sort=False, observed=True)
    kind = np.asarray(groups.ngroup(), dtype=np.intp)
    _, first = np.unique(kind, return_index=True)
    return kind, first.astype(np.intp)
