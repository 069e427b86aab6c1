"""A job that is about to be submitted: its columns, and what of its file was not used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Submission:
    """One job as the job table would hold it before it starts."""

    #: columns that have a value
    columns: Mapping[str, Any]
    #: kind of file, in words
    form: str
    #: what was not used or had to be assumed, a sentence each
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What to call the job in an answer."""
        held = self.columns.get("job_id") or self.columns.get("name") or "job"
        return str(held)


def as_jobs(submissions: Sequence[Submission]) -> pd.DataFrame:
    """Return a job table of submissions; what a job does not say is missing.

    Examples
    --------
    >>> as_jobs([Submission({"user": "ann", "request_gpus": 2.0}, "YAML")])
      user  request_gpus
    0  ann           2.0
    """
    return pd.DataFrame([dict(one.columns) for one in submissions])
