"""The same jobs with other requests: recommended ones, one sizer's, or whole GPUs only."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import (
    FormatError,
    InputError,
    MissingColumnError,
    MissingFileError,
    ParameterError,
    not_among,
)
from prophase.sim.rules.retry_ladder import Ladder
from prophase.sim.signatures import ASK_GPUS, ASK_MEMORY, ASK_MILLI
from prophase.sim.workload import Workload, name_some

#: what a table of requests may replace; ``advised_`` in place of ``request_`` is understood too
REQUESTS = ("request_cpu_cores", "request_memory_gib", "request_gpus", "instances", "gpu_type")


def whole_gpus(workload: Workload) -> tuple[Workload, int]:
    """Round shares of a GPU up to a whole one; return how many jobs that changes."""
    asks = workload.asks.copy()
    shared = (asks[:, ASK_GPUS] > 0) & (asks[:, ASK_MILLI] < 1000)
    asks[shared, ASK_MILLI] = 1000
    return replace(workload, asks=asks), int(shared.sum())


def read_requests(path: Path) -> pd.DataFrame:
    """Read a table of requests from a .csv or .parquet file."""
    if not path.exists():
        raise MissingFileError(f"{path}: there is no such file of requests.")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, dtype={"job_id": "string"})
    except (OSError, ValueError) as cause:
        raise FormatError(f"{path}: is not a readable .csv or .parquet table.") from cause


def with_requests(
    workload: Workload, requests: pd.DataFrame, *, name: str = "requests"
) -> tuple[Workload, list[str]]:
    """Return the workload with the requests of a table, and remarks.

    Parameters
    ----------
    requests : DataFrame
        Columns of ``REQUESTS`` and one or more that name jobs: ``job_id``, or any other column
        of the job table, such as ``user`` and ``task``. One row per name; what is missing there
        leaves a request as it was.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": 0.0, "duration_s": 9.0})
    >>> jobs["request_gpus"] = 4.0
    >>> advised = pd.DataFrame({"job_id": ["b"], "request_gpus": [1.0]})
    >>> smaller, remarks = with_requests(Workload.from_jobs(jobs), advised)
    >>> smaller.jobs["request_gpus"].tolist(), remarks
    ([4.0, 1.0], ['requests: 1 of 2 jobs get another request.'])
    """
    advised = requests.rename(columns=lambda c: str(c).replace("advised_", "request_"))
    values = [column for column in REQUESTS if column in advised]
    keys = [str(c) for c in advised if c in workload.jobs and c not in REQUESTS]
    keys = ["job_id"] if "job_id" in keys else keys
    if not values or not keys:
        lacks = f"a request ({', '.join(REQUESTS)})" if not values else "a name (job_id or user)"
        raise MissingColumnError(
            f"{name}: has no column for {lacks}. It has: {', '.join(map(str, requests))}."
        )
    if advised.duplicated(keys).any():
        twice = advised.loc[advised.duplicated(keys), keys].iloc[0]
        raise InputError(
            f"{name}: two rows for {', '.join(f'{k} {v}' for k, v in twice.items())}; keep one."
        )
    names = workload.jobs[keys].astype("string")
    found = names.merge(
        advised[[*keys, *values]].astype(dict.fromkeys(keys, "string")), "left", keys
    )
    jobs, changed = workload.jobs.copy(), np.zeros(len(workload), np.bool_)
    for column in values:
        new = found[column].set_axis(jobs.index)
        if column != "gpu_type":
            words = new[pd.to_numeric(new, errors="coerce").isna() & new.notna()]
            if len(words):
                raise InputError(f"{name}: {column} is {words.iloc[0]!r}, which is not a number.")
            new = pd.to_numeric(new).astype(float)
            bad = (new < 0) | np.isinf(new)
            if bad.any():
                ids = jobs.loc[bad, "job_id"]
                raise InputError(f"{name}: {column} below 0 or infinite for {name_some(ids)}.")
        old = jobs[column] if column in jobs else pd.Series(np.nan, jobs.index)
        jobs[column] = new.where(new.notna(), old)
        changed |= (new.notna() & (new != old).fillna(True)).to_numpy(np.bool_)
    if not changed.any():
        raise InputError(
            f"{name}: changes no request of any job. Check that {', '.join(keys)} name jobs of "
            "this trace."
        )
    remarks = [f"{name}: {int(changed.sum()):,} of {len(jobs):,} jobs get another request."]
    short = _below_peak(jobs)
    if short:
        remarks.append(
            f"{name}: {short:,} jobs then ask for less memory than their recorded peak; they "
            "would fail and come back, which these replays do not show."
        )
    made = Workload.from_jobs(jobs)
    return replace(made, left_out=workload.left_out), remarks


def _below_peak(jobs: pd.DataFrame) -> int:
    if "memory_peak_gib" not in jobs or "request_memory_gib" not in jobs:
        return 0
    return int((jobs["request_memory_gib"] < jobs["memory_peak_gib"]).sum())


#: requests as the trace has them
ASKED = "asked"
#: whether jobs share GPUs as they ask to, or each fraction takes a whole one
SHARING = ("on", "off")


@dataclass(frozen=True)
class Sizing:
    """Jobs and what they ask for.

    Attributes
    ----------
    ladder : Ladder, optional
        How attempts that asked for too little memory climb; without it nothing is killed.
    """

    workload: Workload
    ladder: Ladder | None = None

    def highest(self) -> Workload:
        """Return the workload with the most that each job will ask for."""
        if self.ladder is None:
            return self.workload
        rungs, asks, _ = self.ladder.climb(self.workload, self.workload.asks)
        most = np.maximum.reduceat(asks[:, ASK_MEMORY], np.cumsum(rungs) - rungs)
        highest = self.workload.asks.copy()
        highest[:, ASK_MEMORY] = most
        return replace(self.workload, asks=highest)

    def without(self, stuck: NDArray[np.bool_], why: str) -> Sizing:
        """Return the same without some of the jobs."""
        return replace(self, workload=self.workload.without(stuck, why))

    def mark(self) -> str:
        """Return a hash over what it asks for."""
        digest = hashlib.sha256(np.ascontiguousarray(self.workload.asks).tobytes())
        digest.update(repr(self.ladder).encode())
        columns = (*self.ladder.columns, self.ladder.peak) if self.ladder else ()
        for name in columns:
            digest.update(pd.util.hash_array(self.workload.jobs[name].to_numpy(float)).tobytes())
        return digest.hexdigest()[:16]


def highest_of(workload: Workload, policy: Mapping[str, Any]) -> Workload:
    """Return the workload with the most that each job will ask for under a policy."""
    ladder = policy.get("ladder")
    return Sizing(workload, ladder if isinstance(ladder, Ladder) else None).highest()


def chosen_sizings(
    names: list[str], workload: Workload, given: Mapping[str, Sizing]
) -> dict[str, Sizing]:
    """Return the sizings of a plan by name, all of the same jobs."""
    known = {ASKED: Sizing(workload), **given}
    for name in names:
        if name not in known:
            said = f"sizing {name!r} is unknown."
            raise ParameterError(not_among(said, name, known))
        if not np.array_equal(known[name].workload.submit_s, workload.submit_s):
            raise ParameterError(f"sizing {name!r} is for other jobs than those of the trace.")
    return {name: known[name] for name in names}
