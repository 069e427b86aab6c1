"""A replay in which jobs are held back for a while after their submission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from prophase import units
from prophase.plural import counted
from prophase.sim.rules.carbon import Deferral
from prophase.sim.schedule import Schedule
from prophase.sim.workload import Workload

_SUBMITTED = "attr_submitted_s"


def simulate_deferred(
    workload: Workload, defer: Deferral, run: Callable[[Workload], Schedule]
) -> Schedule:
    """Replay jobs that queue later than they are submitted; waits count from the submission.

    Parameters
    ----------
    run : function
        Replays a workload whose jobs queue when they are submitted.
    """
    release = defer.release(workload)
    held = release - workload.submit_s
    noted = workload.jobs.assign(**{_SUBMITTED: workload.submit_s})
    schedule = run(replace(workload, jobs=noted).released_at(release))
    later = schedule.workload
    submit = later.jobs[_SUBMITTED].to_numpy(np.float64)
    row_of = np.empty(len(later), np.int64)
    row_of[later.rows_in_order_of(submit)] = np.arange(len(later))
    back = later.released_at(submit)
    back = replace(back, jobs=back.jobs.drop(columns=_SUBMITTED))
    moved = held[held > 0]
    said = f"{counted(len(moved), 'job')} held back for a cleaner hour" + (
        f", for {units.duration(float(moved.mean()))} on average; waits count that"
        if len(moved)
        else ""
    )
    attempts = replace(schedule.attempts, job=row_of[schedule.attempts.job])
    return replace(schedule, workload=back, attempts=attempts, notes=(*schedule.notes, said))
