"""Take from a job table all that the real scheduler decided, so that a replay cannot peek."""

from __future__ import annotations

import pandas as pd

from prophase.errors import InputError
from prophase.trace.schema import JOBS

#: what is known only afterwards and yet belongs to the job, not to the schedule
_KEPT = ("duration_s", "status")


def without_outcomes(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs as they were submitted, with their run times.

    Starts, ends, waits and every ``after_`` column are gone; a policy that asks for one is
    refused. Jobs whose submit time is missing go too: their start must not stand in for it.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a"], "submit_s": [0.0], "duration_s": [9.0]})
    >>> list(without_outcomes(jobs.assign(start_s=5.0, after_nodes="n1")).columns)
    ['job_id', 'submit_s', 'duration_s']
    """
    if "submit_s" not in jobs or not jobs["submit_s"].notna().any():
        raise InputError(
            "the job table has no submit times (submit_s): what a job waited is not known, and "
            "replaying recorded starts would prove nothing."
        )
    decided = [
        name
        for name in jobs.columns
        if (column := JOBS.get(name)) is not None and column.known == "after" and name not in _KEPT
    ]
    return jobs[jobs["submit_s"].notna()].drop(columns=decided)
