"""Where the hours went: useful work, work lost or paid twice, and idle time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from prophase.sim.attempts import FINISHED, NODE_LOST, OUT_OF_MEMORY, PREEMPTED
from prophase.sim.signatures import Floats

if TYPE_CHECKING:
    from prophase.sim.schedule import Schedule

_HOUR_S = 3600.0
#: where the lost time of an attempt is booked, by how it ended
_LOST = {
    FINISHED: "restarting",
    PREEMPTED: "lost_preempted",
    NODE_LOST: "lost_node",
    OUT_OF_MEMORY: "lost_memory",
}


def time_by_use(schedule: Schedule) -> dict[str, Floats]:
    """Split the time each job ran, over all attempts, by what it was good for.

    ``useful`` is the run that the job needed, ``slowed`` what a slower or shared GPU added to
    it. What an interrupted attempt lost, its restart included, is booked by what ended it;
    ``restarting`` is the restart of the attempt that finished. A job that never finished did
    nothing useful: all it ran is booked so.

    Returns
    -------
    dict of arrays of shape (jobs,)
        Seconds; their sum is the time the job ran.
    """
    held, jobs = schedule.occupancy, len(schedule.workload)
    done = np.bincount(held.job, held.outcome == FINISHED, jobs) > 0
    lost = np.where(done[held.job], held.lost_s, held.length_s)
    forward = np.bincount(held.job, held.length_s - lost, jobs)
    extra = forward - schedule.workload.duration_s
    # rounding of start + duration is no slowness
    slowed = np.where(extra > 1e-9 * (1.0 + np.abs(schedule.end_s)), extra, 0.0)
    uses = {"useful": forward - slowed, "slowed": slowed}
    for outcome, name in _LOST.items():
        uses[name] = np.bincount(held.job, np.where(held.outcome == outcome, lost, 0.0), jobs)
    return uses


def hours_account(amount: Floats, used: dict[str, Floats], owned: float | None) -> dict[str, float]:
    """Return the hours of one resource: owned, allocated, by use, and idle.

    Parameters
    ----------
    amount : array of shape (jobs,)
        What each job holds while it runs.
    used : dict
        From :func:`time_by_use`.
    owned : float or None
        Amount x seconds the cluster had; None if the nodes do not state it.
    """
    uses = {name: float((amount * seconds).sum()) / _HOUR_S for name, seconds in used.items()}
    allocated = sum(uses.values())
    account = {} if owned is None else {"owned": owned / _HOUR_S}
    account |= {"allocated": allocated, **uses}
    if owned is not None:
        account["idle"] = max(0.0, owned / _HOUR_S - allocated)
    return account
