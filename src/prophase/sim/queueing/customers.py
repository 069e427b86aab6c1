"""The jobs of a trace as customers of one pool of servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, ParameterError, not_among
from prophase.sim.queueing.checks import Floats

#: what a server is -> column that says how many an instance asks for
RESOURCES: dict[str, str | None] = {
    "gpus": "request_gpus",
    "cores": "request_cpu_cores",
    "jobs": None,
}


@dataclass(frozen=True)
class Customers:
    """When jobs came, how long they ran and what they took; who was left out, and why."""

    submit_s: Floats
    duration_s: Floats
    need: Floats
    left_out: Mapping[str, int]
    #: which rows of the job table they are
    rows: NDArray[np.bool_]


def customers_of(jobs: pd.DataFrame, servers: int, resource: str = "gpus") -> Customers:
    """Return the jobs that have times and ask for the resource.

    Parameters
    ----------
    jobs : DataFrame
        A job table.
    servers : int
        Size of the pool; a job that asks for more is refused by name.
    resource : {"gpus", "cores", "jobs"}
        What a server is; with "jobs" every job takes one.

    Examples
    --------
    >>> table = pd.DataFrame({"job_id": ["a", "b"], "submit_s": [0, 1], "duration_s": [5, None]})
    >>> customers_of(table, 4, "jobs").left_out
    {'without submit time or duration': 1}
    """
    if resource not in RESOURCES:
        raise ParameterError(not_among(f"resource is {resource!r}.", resource, RESOURCES))
    for column in ("submit_s", "duration_s"):
        if column not in jobs or not jobs[column].notna().any():
            raise InputError(f"this trace has no {column}, without which there is no queue.")
    timed = jobs["submit_s"].notna() & jobs["duration_s"].notna()
    need = _need(jobs, RESOURCES[resource])
    kept = timed & (need > 0)
    left_out = {
        "without submit time or duration": int((~timed).sum()),
        f"asking for no {resource}": int((timed & ~kept).sum()),
    }
    too_large = kept & (need > servers)
    if too_large.any():
        names = ", ".join(map(str, jobs.loc[too_large, "job_id"].head(3)))
        raise InputError(
            f"{int(too_large.sum()):,} jobs need more than {servers:,} {resource} at once, "
            f"up to {need[too_large].max():g}, e.g. {names}. Give at least that many servers."
        )
    return Customers(
        jobs.loc[kept, "submit_s"].to_numpy(float),
        jobs.loc[kept, "duration_s"].to_numpy(float),
        need[kept].to_numpy(float),
        {why: count for why, count in left_out.items() if count},
        kept.to_numpy(bool),
    )


def _need(jobs: pd.DataFrame, column: str | None) -> pd.Series:
    if column is None:
        return pd.Series(1.0, jobs.index)
    if column not in jobs or not jobs[column].notna().any():
        raise InputError(
            f"this trace has no {column}. Count jobs instead, one server each: --resource jobs."
        )
    asked = jobs[column].fillna(0.0).astype(float)
    return asked * jobs["instances"].fillna(1.0).astype(float) if "instances" in jobs else asked
