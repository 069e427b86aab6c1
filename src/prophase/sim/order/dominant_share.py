"""Dominant resource fairness: whose largest share of any resource is smallest now.

Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011.
"""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import JOB_USER, KEY, OWNER_DOMINANT, OWNER_SHARE, Floats

#: a start changes its user's share, and so the order of those who still wait
RESORT = True


@njit(KEY, cache=True)
def dominant_share(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Rank jobs by their user's dominant share over the user's weight."""
    user = int(jobs[job, JOB_USER])
    return owners[user, OWNER_DOMINANT] / owners[user, OWNER_SHARE]
