"""Predictions as the rows that are shown: of the command line and of the service alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from prophase.plain import finite
from prophase.profile.predict.job_model import JobModel
from prophase.profile.submission.fields import from_fields


def predicted(
    model: JobModel, jobs: pd.DataFrame, targets: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return the model's answers with the id of each job before them."""
    found = model.predict(jobs, targets)
    found.insert(0, "job_id", jobs["job_id"].loc[found.index])
    return found


def as_rows(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Return answers as JSON can hold them."""
    return [
        {str(key): finite(value) for key, value in row.items()} for row in found.to_dict("records")
    ]


def jobs_from_fields(described: Sequence[Mapping[Any, Any]]) -> tuple[pd.DataFrame, list[str]]:
    """Return jobs as a table, and what of them is not used; jobs without an id are numbered.

    Examples
    --------
    >>> table, notes = jobs_from_fields([{"user": "ann", "memory": "16Gi"}, {"user": "bob"}])
    >>> table
      job_id user  request_memory_gib
    0      1  ann                16.0
    1      2  bob                 NaN
    """
    rows, notes = [], []
    for number, fields in enumerate(described, start=1):
        told = from_fields(fields, form="job description", where=f"job {number}")
        rows.append({"job_id": str(number), **told.columns})
        notes += [f"job {number}: {note}" for note in told.notes]
    return pd.DataFrame(rows), notes
