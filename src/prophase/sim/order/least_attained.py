"""Least attained service first: who has run least so far; needs no knowledge of run times."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import JOB_ATTAINED, KEY, Floats

#: a job that waits keeps its key
STILL = True
#: the keys of running jobs move alike
ALIKE = "time"


@njit(KEY, cache=True)
def least_attained(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Rank jobs by the seconds they have run."""
    return jobs[job, JOB_ATTAINED]
