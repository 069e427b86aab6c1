"""What a predictor may see of a job: columns known at submission, as plain arrays, and its clock.

Making a DataFrame of one job and reading its columns takes longer than the answer itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from prophase.array_types import Array, Floats
from prophase.errors import MissingColumnError
from prophase.json_types import JsonMapping
from prophase.trace.schema import JOBS, known_at_submit


class Columns:
    """Columns of jobs by name; text as objects, everything else as floats.

    Examples
    --------
    >>> jobs = Columns.of([{"user": "ann", "request_gpus": 2.0}, {"user": "bob"}])
    >>> len(jobs), jobs["request_gpus"], "queue" in jobs
    (2, array([ 2., nan]), False)
    """

    def __init__(self, arrays: Mapping[str, Array], rows: int) -> None:
        self._arrays, self._rows = arrays, rows
        #: what was computed of columns, by name: several parts of a model ask for the same
        self.hashes: dict[str, Array] = {}

    @classmethod
    def of(cls, rows: Sequence[JsonMapping]) -> Columns:
        """Return jobs that are given one by one; what a job does not say is missing."""
        arrays: dict[str, Array] = {}
        for name in dict.fromkeys(name for row in rows for name in row):
            values = [row.get(name) for row in rows]
            text = any(isinstance(value, str) for value in values)
            arrays[name] = np.array(values, dtype=object if text else np.float64)
        return cls(arrays, len(rows))

    def __len__(self) -> int:
        return self._rows

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._arrays)

    def table(self) -> pd.DataFrame:
        """Return the same jobs as a table."""
        return pd.DataFrame(self._arrays)


# What a predictor may see of a job: the columns marked as known at submission, and its clock.
#
# Everything else of the table is dropped here, before any method gets hold of it, so no
# method can learn from what is known only afterwards.


#: when a job came, not what it is; these are clocks and never part of a key
CLOCKS = ("submit_s", "submit_order")
#: when its outcome was known
OUTCOME_CLOCKS = (*CLOCKS, "start_s", "end_s", "duration_s")
#: a longer limit stands for "unlimited"
_LONGEST_LIMIT_S = 366 * 86_400.0


def submitted(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of ``jobs`` that are known at submission, clocks left out.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann"], "submit_s": [0.0], "duration_s": [5.0]})
    >>> list(submitted(jobs))
    ['user']
    """
    return jobs[[name for name in known_at_submit(jobs.columns) if name not in CLOCKS]]


def arrivals(jobs: pd.DataFrame | Columns) -> Floats:
    """Return when each job came: its submission, else its start, else its place in order.

    Without any clock every job counts as coming after all that is known.
    """
    submit = numbers(jobs, "submit_s")
    arrival = np.where(np.isnan(submit), numbers(jobs, "start_s"), submit)
    if np.isnan(arrival).all():
        arrival = numbers(jobs, "submit_order")
    return np.where(np.isnan(arrival), np.inf, arrival)


def ends(jobs: pd.DataFrame) -> Floats:
    """Return when each job's outcome was known, on the clock of :func:`arrivals`.

    A job whose end is unknown counts as known at the earliest possible moment; one without
    any clock was known from the start.
    """
    end, run = numbers(jobs, "end_s"), numbers(jobs, "duration_s")
    for begin in ("start_s", "submit_s"):
        end = np.where(np.isnan(end), numbers(jobs, begin) + run, end)
    for stand_in in ("submit_s", "submit_order"):
        end = np.where(np.isnan(end), numbers(jobs, stand_in), end)
    # clocks disagree in real logs; nothing is known of a job before it was submitted
    end = np.fmax(end, numbers(jobs, "submit_s"))
    return np.where(np.isnan(end), -np.inf, end)


def limits(jobs: pd.DataFrame | Columns) -> Floats:
    """Return the time limit of each job; NaN where it has none, or one that only says so.

    Examples
    --------
    >>> limits(pd.DataFrame({"time_limit_s": [3600.0, 1e9]})).tolist()
    [3600.0, nan]
    """
    held = numbers(jobs, "time_limit_s")
    return np.where(held <= _LONGEST_LIMIT_S, held, np.nan)


def outcomes(jobs: pd.DataFrame, target: str) -> Floats:
    """Return the target of each job; NaN where it is unknown.

    A job cancelled before it started is logged with no run time. It never ran, so how long
    it would have run is unknown, not nothing. Of a target that is true or false, 1 is true.
    """
    if target.partition("=")[0] not in jobs:
        numeric = [str(name) for name in jobs.select_dtypes("number").columns]
        raise MissingColumnError(
            f"the jobs have no column {target!r} to learn from. Numbers that are there: "
            f"{', '.join(numeric) or 'none'}."
        )
    if is_yes_no(jobs, target):
        return _truths(jobs, target)
    found = numbers(jobs, target)
    return np.where(found > 0, found, np.nan) if target == "duration_s" else found


def is_yes_no(jobs: pd.DataFrame, target: str) -> bool:
    """Say whether a target is true or false: written ``column=value``, or a column of booleans.

    Examples
    --------
    >>> jobs = pd.DataFrame({"status": ["oom"], "after_killed": [True], "duration_s": [1.0]})
    >>> [is_yes_no(jobs, name) for name in ("status=oom", "after_killed", "duration_s")]
    [True, True, False]
    """
    if "=" in target:
        return True
    return target in jobs and pd.api.types.is_bool_dtype(jobs[target].dropna().infer_objects())


def _truths(jobs: pd.DataFrame, target: str) -> Floats:
    """Return 1 where a yes-or-no target is true, 0 where it is not, NaN where it is unknown."""
    column, _, value = target.partition("=")
    known = jobs[column].notna().to_numpy()
    if value:
        found = jobs[column].astype(object).map(lambda held: str(held) == value).to_numpy()
    else:
        found = jobs[column].map({True: True}).eq(True).to_numpy()
    return np.where(known, found.astype(np.float64), np.nan)


def is_number(jobs: pd.DataFrame | Columns, column: str) -> bool:
    """Say whether a column holds numbers: by the schema of jobs, or by what is there."""
    known = JOBS.get(column)
    if known is not None and known.kind == "number":
        return True
    if isinstance(jobs, Columns):
        return jobs[column].dtype.kind == "f"
    return pd.api.types.is_numeric_dtype(jobs[column])


def job_ids(jobs: pd.DataFrame) -> pd.Series[str]:
    """Return what each job is called: its ``job_id``, else its place in the table."""
    named = jobs["job_id"] if "job_id" in jobs else pd.Series(jobs.index, index=jobs.index)
    return named.astype(str)


def numbers(jobs: pd.DataFrame | Columns, column: str) -> Floats:
    """Return a column as floats; NaN throughout if it is not there."""
    if column not in jobs:
        return np.full(len(jobs), np.nan)
    values = jobs[column]
    if isinstance(values, np.ndarray):
        if values.dtype.kind != "f":
            values = np.asarray(pd.to_numeric(values, errors="coerce"))
        return values.astype(np.float64)
    if values.dtype.kind not in "fiu":
        values = pd.to_numeric(values, errors="coerce")
    return values.to_numpy(dtype=np.float64, na_value=np.nan)
