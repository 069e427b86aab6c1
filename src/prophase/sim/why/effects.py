"""What removing a cause does to the waiting, beside what the cause's share says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from prophase.sim.cluster import Cluster
from prophase.sim.replaying import simulate
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import Floats
from prophase.sim.why.intervals import ratio_intervals
from prophase.sim.why.removing import REMOVALS, World


@dataclass(frozen=True)
class Effect:
    """All waiting in a world without a cause, against the world as it is.

    ``change_pct`` is the change of total waiting in percent of it, with an interval from days
    drawn with replacement (None where the trace has fewer than two days). ``skipped`` says
    why there was nothing to remove.
    """

    cause: str
    change: str
    skipped: str = ""
    wait_s: float | None = None
    change_pct: float | None = None
    low_pct: float | None = None
    high_pct: float | None = None


def effects_of_removal(
    schedule: Schedule,
    cluster: Cluster,
    settings: dict[str, Any],
    progress: Callable[[str, float | None], None] | None = None,
) -> list[Effect]:
    """Replay the jobs of a schedule once for each way to remove a cause.

    Parameters
    ----------
    settings : dict
        What the schedule was made with, as for :func:`prophase.sim.simulate`.
    """
    share = settings.get("share")
    if share is not None:
        # the schedule's requests are what sharing left of them already
        settings = {**settings, "share": replace(share, per_gpu=0)}
    found = []
    for number, (cause, words, remove) in enumerate(REMOVALS):
        if progress:
            progress(f"without {cause}: {words}", 100 * number / len(REMOVALS))
        world = remove(World(schedule.workload, cluster, settings))
        if isinstance(world, str):
            found.append(Effect(cause, words, skipped=world))
            continue
        waits = _waits(world, len(schedule.workload))
        found.append(_compare(cause, words, schedule, waits))
    return found


def _waits(world: World, jobs: int) -> Floats:
    """Return the wait of each job in another world."""
    again = simulate(world.workload, world.cluster, **world.settings)
    if world.job_of is None:
        return again.wait_s
    last = np.zeros(jobs)
    np.maximum.at(last, world.job_of, again.wait_s)
    return last


def _compare(cause: str, words: str, schedule: Schedule, waits: Floats) -> Effect:
    before = schedule.wait_s
    # a job that never starts in one of the worlds has no wait to compare
    known = np.isfinite(before) & np.isfinite(waits)
    total = float(before[known].sum())
    difference = waits[known] - before[known]
    between = ratio_intervals(
        schedule.workload.submit_s[known], 100 * difference[:, None], before[known]
    )
    low, high = (None, None) if between is None else (max(-100.0, between[0][0]), between[1][0])
    change = float(difference.sum()) * 100 / total
    return Effect(cause, words, "", float(waits[known].sum()), change, low, high)
