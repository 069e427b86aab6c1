"""Fair share: who has used least lately, for the share they own; usage halves with time.

Users are compared with each other, or accounts with ``order_options={"by": "group"}``; a tree of
accounts above users is shared by ``multifactor`` alone.
"""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import JOB_USER, KEY, OWNER_SHARE, OWNER_USAGE, Floats


@njit(KEY, cache=True)
def fair_share(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Rank jobs by their user's decayed usage over the user's share."""
    user = int(jobs[job, JOB_USER])
    return owners[user, OWNER_USAGE] / owners[user, OWNER_SHARE]
