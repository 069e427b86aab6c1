"""Name what an advice is for by columns of the job table."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from prophase.errors import MissingColumnError
from prophase.sizing.replaying.tasks import known_before
from prophase.sizing.resources import RESOURCES


def with_kinds(
    jobs: pd.DataFrame, columns: Sequence[str], resource: str = "memory"
) -> pd.DataFrame:
    """Return the jobs with ``task`` made of these columns; ``task`` alone leaves them as they are.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["1"], "group": ["g"], "task": ["worker"]})
    >>> with_kinds(jobs, ["group", "task"])["task"].tolist()
    ['g/worker']
    """
    names = pd.Series(known_before(jobs, "strict", RESOURCES[resource])[0], index=jobs.index)
    parts = []
    for column in columns:
        if column != "task" and column not in jobs:
            raise MissingColumnError(
                f"the jobs have no column {column!r} to name kinds by. They have: "
                f"{', '.join(map(str, list(jobs.columns)[:20]))}."
            )
        values = names if column == "task" else jobs[column]
        parts.append(values.astype("string").fillna("-"))
    if not parts:
        return jobs
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.str.cat(part, sep="/")
    return jobs.assign(task=joined)
