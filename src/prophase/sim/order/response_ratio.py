"""Highest response ratio next: who has waited longest against its own run time goes first.

Short jobs still pass long ones, but nobody is passed for ever: a job's turn comes as its wait
grows. Needs no limit to be set. Source: Brinch Hansen, "An analysis of response ratio
scheduling", IFIP Congress 1971.
"""

from __future__ import annotations

import numpy as np

from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.owners import Owners
from prophase.sim.signatures import JOB_SUBMIT, KEY, Floats
from prophase.sim.workload import Workload

#: ratios move all the time; a look a minute changes hardly a start
REKEY_S = 60.0
#: nobody is taken to run shorter, or jobs of no length would overtake all at once
_SHORTEST_S = 1.0


@njit(KEY, cache=True)
def response_ratio(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Rank jobs by wait over run time, the largest first."""
    return -(now - jobs[job, JOB_SUBMIT]) / facts[job, 0]


def prepare(
    workload: Workload, cluster: Cluster, owners: Owners, *, column: str = "duration_s"
) -> Floats:
    """Take run times from a column, by default the true ones; where it is empty, the median."""
    known = workload.duration_s if column == "duration_s" else workload.key(column)
    finite = np.isfinite(known)
    usual = float(np.median(known[finite])) if finite.any() else _SHORTEST_S
    told: Floats = np.maximum(np.where(finite, known, usual), _SHORTEST_S)[:, None]
    return np.ascontiguousarray(told)
