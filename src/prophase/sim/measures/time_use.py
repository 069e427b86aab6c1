"""Where the hours went: useful work, work lost or paid twice, and idle time."""

from __future__ import annotations

import numpy as np

from prophase.sim.attempts import FINISHED, NODE_LOST, OUT_OF_MEMORY, PREEMPTED, RESIZED
from prophase.sim.job_times import JobTimes
from prophase.sim.signatures import Floats

_HOUR_S = 3600.0
#: where the lost time of an attempt is booked, by how it ended
_LOST = {
    FINISHED: "restarting",
    PREEMPTED: "lost_preempted",
    NODE_LOST: "lost_node",
    OUT_OF_MEMORY: "lost_memory",
}


def time_by_use(schedule: JobTimes) -> dict[str, Floats]:
    """Split the time each attempt ran by what it was good for.

    ``useful`` is the run that the job needed, ``slowed`` what a slower or shared GPU added to
    it. What an interrupted attempt lost, its restart included, is booked by what ended it;
    ``restarting`` is the restart of the attempt that finished. A job that never finished did
    nothing useful: all it ran is booked so.

    Returns
    -------
    dict of arrays of shape (attempts,)
        Seconds; their sum is the length of the attempt. Attempts as in ``occupancy``.
    """
    held, jobs = schedule.occupancy, len(schedule.workload)
    done = np.bincount(held.job, held.outcome == FINISHED, jobs) > 0
    lost = np.where(done[held.job], held.lost_s, held.length_s)
    forward = held.length_s - lost
    of_job = np.bincount(held.job, forward, jobs)
    extra = of_job - schedule.workload.duration_s
    # rounding of start + duration is no slowness
    slow = np.where(extra > 1e-9 * (1.0 + np.abs(schedule.end_s)), extra, 0.0)
    share = np.divide(slow, of_job, out=np.zeros(jobs), where=of_job > 0)[held.job]
    uses = {"useful": forward * (1.0 - share), "slowed": forward * share}
    for outcome, name in _LOST.items():
        ended_so = held.outcome == outcome
        if outcome == FINISHED:
            ended_so |= held.outcome == RESIZED
        uses[name] = np.where(ended_so, lost, 0.0)
    return uses


def hours_account(amount: Floats, used: dict[str, Floats], owned: float | None) -> dict[str, float]:
    """Return the hours of one resource: owned, allocated, by use, and idle.

    Parameters
    ----------
    amount : array of shape (attempts,)
        What each attempt holds while it runs.
    used : dict
        From :func:`time_by_use`.
    owned : float or None
        Amount x seconds the cluster had; None if the nodes do not state it.
    """
    uses = {name: float(amount @ seconds) / _HOUR_S for name, seconds in used.items()}
    allocated = sum(uses.values())
    account = {} if owned is None else {"owned": owned / _HOUR_S}
    account |= {"allocated": allocated, **uses}
    if owned is not None:
        account["idle"] = max(0.0, owned / _HOUR_S - allocated)
    return account
