"""Settle jobs against a recommendation: reserved without it, reserved with it, predicted.

Amounts are whole numbers (a ten-thousandth of the unit x a millisecond), so that sums over jobs,
tasks and recommendations are the same to the last digit, in whatever order they are added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.sizing.replays.task_runs import known_before
from prophase.sizing.resources import RESOURCES
from prophase.trace.identity.job_identity import with_identity
from prophase.trace.identity.rule import IdentityRule

#: of the unit (GiB, cores, GPUs) and of a second
PER_UNIT, PER_SECOND = 10_000, 1_000
#: whole numbers of an hour of one unit
PER_UNIT_HOUR = PER_UNIT * PER_SECOND * 3600
#: a request this near to a rung follows the advice: systems round
_NEAR = 0.02
#: ways a job can end in the ledger
FOLLOWED, KILLED, IGNORED, UNKNOWN = "followed", "killed", "not followed", "unknown"


@dataclass(frozen=True)
class PromisedRequest:
    """What a recommendation says of one task."""

    #: request when the recommendation was made
    now: float
    ladder: tuple[float, ...]
    #: predicted share of what was reserved
    saving: float


@dataclass(frozen=True)
class Entry:
    """One job in the ledger. ``saved`` is always ``before - actual``."""

    job_id: str
    task: str
    #: NaN if the job does not say
    submit_s: float
    outcome: str
    #: reserved at the request before the recommendation; nothing for a killed attempt, which that
    #: request would have spared
    before: int
    actual: int
    predicted: int
    why: str = ""

    @property
    def saved(self) -> int:
        """What the recommendation saved; negative if it cost more."""
        return self.before - self.actual


def settle_jobs(
    jobs: pd.DataFrame,
    terms: Mapping[str, PromisedRequest],
    *,
    resource: str = "memory",
    rule: IdentityRule | None = None,
    from_s: float = -math.inf,
) -> Iterator[Entry]:
    """Yield an entry for every job of these tasks submitted while the recommendation was in force.

    Parameters
    ----------
    jobs : DataFrame
        What happened: requests, run times, how jobs ended.
    terms : mapping
        Task -> what was advised.
    rule : IdentityRule, optional
        By which columns jobs are grouped; as the table has it if not given.
    from_s : float
        Submissions from here on count, and jobs that do not say when they were submitted.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": ["a"], "task": ["t"], "submit_s": [0.0]})
    >>> jobs["duration_s"], jobs["request_memory_gib"] = 3600.0, 2.0
    >>> entry = next(settle_jobs(jobs, {"t": PromisedRequest(8.0, (2.0, 4.0), 0.75)}))
    >>> entry.outcome, entry.saved / PER_UNIT_HOUR
    ('followed', 6.0)
    """
    what = RESOURCES[resource]
    jobs = with_identity(jobs, rule)
    names = known_before(jobs, "strict", what)[0]
    requests = what.requested(jobs)
    run_s = _column(jobs, "duration_s")
    submit = _column(jobs, "submit_s")
    submit = np.where(np.isnan(submit), _column(jobs, "start_s"), submit)
    instances = np.nan_to_num(_column(jobs, "instances"), nan=1.0)
    status = (
        jobs["status"].astype("string").fillna("").tolist()
        if "status" in jobs
        else [""] * len(jobs)
    )
    ids = jobs["job_id"].astype(str).tolist()
    for row, task in enumerate(names):
        agreed = terms.get(task)
        if agreed is None:
            continue
        at = float(submit[row])
        if at < from_s:
            continue
        asked, seconds = float(requests[row]), float(run_s[row])
        if status[row] in ("pending", "running") or not (seconds >= 0):
            yield Entry(ids[row], task, at, UNKNOWN, 0, 0, 0, "has not ended, or has no run time")
            continue
        if not asked > 0:
            yield Entry(ids[row], task, at, UNKNOWN, 0, 0, 0, "states no request")
            continue
        time = round(seconds * PER_SECOND) * max(1, round(float(instances[row])))
        actual = round(asked * PER_UNIT) * time
        before = round(agreed.now * PER_UNIT) * time if agreed.now > 0 else actual
        if not _follows(asked, agreed):
            yield Entry(ids[row], task, at, IGNORED, actual, actual, 0, "asked for something else")
        elif status[row] == "oom":
            yield Entry(ids[row], task, at, KILLED, 0, actual, 0, "killed for memory")
        else:
            share = agreed.saving if math.isfinite(agreed.saving) else 1 - asked / agreed.now
            # a task that asked for nothing before was promised nothing
            promised = round(before * share) if agreed.now > 0 else 0
            yield Entry(ids[row], task, at, FOLLOWED, before, actual, promised)


def _follows(asked: float, agreed: PromisedRequest) -> bool:
    rungs = agreed.ladder
    if agreed.now > 0 and abs(asked - agreed.now) <= _NEAR * agreed.now:
        # the request of before is often the last rung: whoever still asks for it did not follow
        rungs = tuple(rung for rung in rungs if abs(rung - agreed.now) > _NEAR * agreed.now)
    return any(abs(asked - rung) <= _NEAR * rung for rung in rungs)


def _column(jobs: pd.DataFrame, name: str) -> np.ndarray:
    if name not in jobs:
        return np.full(len(jobs), np.nan)
    return pd.to_numeric(jobs[name], errors="coerce").to_numpy(float, na_value=np.nan)
