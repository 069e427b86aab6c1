"""Shortest remaining work first; with preemption, SRTF: the least mean completion time."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import JOB_REMAINING, KEY, Floats

#: a job that waits keeps its key
STILL = True
#: the keys of running jobs move alike where all work at one speed
ALIKE = "work"


@njit(KEY, cache=True)
def shortest_remaining(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Rank jobs by the true work they still have to do."""
    return jobs[job, JOB_REMAINING]
