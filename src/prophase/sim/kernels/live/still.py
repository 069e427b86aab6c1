"""Orders that do not move: the key is known at submission."""

from __future__ import annotations

from numba import njit

from prophase.sim.signatures import JOB_KEY, KEY, REFRESH, Floats


@njit(KEY, cache=True)
def by_key(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Return the key the job came with."""
    return jobs[job, JOB_KEY]


@njit(REFRESH, cache=True)
def nothing(owners: Floats, now: float, facts: Floats) -> None:
    """Work nothing out beforehand."""
