"""What the classifier sees of a job: words of submit-time columns, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import MissingColumnError, ParameterError, not_among
from prophase.profile.predict.submit_columns import submitted
from prophase.trace.schema import JOBS

#: the paper's user, group, workload, task name and job name
PAPER_COLUMNS = ("user", "group", "workload", "task", "name")
#: sources that number their jobs instead of naming them
_NAME_STAND_IN = "parent_id"


@dataclass(frozen=True)
class Words:
    """One word per job and column; None where a job has no value."""

    columns: tuple[str, ...]
    #: (jobs, columns)
    values: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.values)

    def rows(self, chosen: NDArray[np.intp]) -> Words:
        """Return some of the jobs."""
        return Words(self.columns, self.values[chosen])

    def only(self, columns: Collection[str]) -> NDArray[np.object_]:
        """Return some of the columns, in their own order."""
        return self.values[:, [place for place, c in enumerate(self.columns) if c in columns]]


def choose_columns(
    jobs: pd.DataFrame, wanted: str | Sequence[str] = "paper", *, label: str | None = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the metadata columns to learn from, and notes on what is not as asked.

    Parameters
    ----------
    jobs : DataFrame
        A job table.
    wanted : "paper", "all" or list of columns
        The paper's five as far as they have values, every submit-time column, or these.
    label : str, optional
        Column that holds the labels, which is never metadata of its own.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann"], "parent_id": ["j1"], "duration_s": [5.0]})
    >>> choose_columns(jobs)[0]
    ('user', 'parent_id')
    """
    if isinstance(wanted, str) and wanted not in ("paper", "all"):
        wanted = [word.strip() for word in wanted.split(",") if word.strip()]
    if not isinstance(wanted, str):
        return _named(jobs, wanted, label), ()
    known = [str(c) for c in submitted(jobs) if jobs[c].notna().any() and c != label]
    notes: tuple[str, ...] = ()
    if wanted == "paper":
        known = [column for column in PAPER_COLUMNS if column in known]
        if "name" not in known and _has_values(jobs, _NAME_STAND_IN) and label != _NAME_STAND_IN:
            known.append(_NAME_STAND_IN)
            notes = ("The jobs have no name; parent_id stands for the paper's job name.",)
    if not known:
        asked = "none of " + ", ".join(PAPER_COLUMNS) if wanted == "paper" else "no such column"
        raise MissingColumnError(
            f"jobs are classified by metadata known at submission, and the table has {asked} "
            "with values. Name other columns, or import a source that records them."
        )
    return tuple(known), notes


def words_of(jobs: pd.DataFrame, columns: Sequence[str]) -> Words:
    """Return the words of some columns; numbers such as 4 and 4.0 are one word.

    A column that the table lacks is as if no job had a value in it.
    """
    values = np.full((len(jobs), len(columns)), None, dtype=object)
    for place, column in enumerate(columns):
        if column in jobs:
            values[:, place] = _words(jobs[column], column)
    return Words(tuple(columns), values)


def refuse_other_columns(
    jobs: pd.DataFrame, columns: Sequence[str], *, partial: bool = False
) -> None:
    """Refuse jobs that lack a column, or with ``partial`` all of them."""
    lacking = [column for column in columns if column not in jobs]
    if lacking and (not partial or len(lacking) == len(columns)):
        raise MissingColumnError(
            f"the classifier was trained with {', '.join(columns)}; the jobs lack "
            f"{', '.join(lacking)}. Give jobs of the same source, or train it on this one."
        )


def _words(series: pd.Series, column: str) -> list[str | None]:
    declared = JOBS.get(column)
    number = declared is not None and declared.kind == "number"
    return [_word(value, number) for value in series.to_numpy(dtype=object)]


def _word(value: Any, number: bool) -> str | None:
    # a missing value is None, NaN, which is not itself, or pandas' own
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, str) and not number:
        return value
    try:
        return f"{float(value):.12g}" if number or isinstance(value, float) else str(value)
    except (TypeError, ValueError):
        return str(value)


def _has_values(jobs: pd.DataFrame, column: str) -> bool:
    return column in jobs and bool(jobs[column].notna().any())


def _named(jobs: pd.DataFrame, wanted: Sequence[str], label: str | None) -> tuple[str, ...]:
    allowed = [*map(str, submitted(jobs)), _NAME_STAND_IN]
    if not wanted:
        raise ParameterError("no metadata column is named. Write for example: user,workload")
    for column in wanted:
        if column == label:
            raise ParameterError(f"{column} is the label, so it cannot be metadata as well.")
        if column not in jobs:
            raise MissingColumnError(
                not_among(f"the job table has no column {column!r}.", column, allowed)
            )
        if column not in allowed:
            raise ParameterError(
                f"{column} is not known when a job is submitted. Known then: {', '.join(allowed)}."
            )
    return tuple(dict.fromkeys(wanted))
