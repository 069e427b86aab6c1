"""A replay in which jobs wait for others: the same loops, run until releases and ends agree.

A job joins the queue when its last parent has ended, which only the replay can tell. So the
workload is replayed with guessed releases, then with those that its ends imply, and so on. What a
loop decides at an instant hangs on what came before alone; so every round is right for longer than
the one before, and the first that implies its own releases is the schedule. All orders, queues
and rules are those of a replay without dependencies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import InputError
from prophase.plural import counted
from prophase.sim.rules.dependencies import (
    Dependencies,
    DependencyGraph,
    submitted_with_their_run,
)
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import Floats
from prophase.sim.workload import Workload


def simulate_dependent(
    workload: Workload, depends: Dependencies, run: Callable[[Workload], Schedule]
) -> Schedule:
    """Replay jobs that wait for others; submissions of the schedule are their releases.

    Parameters
    ----------
    run : function
        Replays a workload without dependencies.
    """
    workload = submitted_with_their_run(workload)
    graph = depends.graph(workload)
    ids = pd.Index(workload.jobs["job_id"].astype(str))
    release, ideal_end = graph.without_waiting(workload.submit_s, workload.duration_s)
    # each round settles at least one more release
    for rounds in range(1, len(workload) + 3):
        schedule = run(workload.released_at(release))
        end = np.full(len(workload), np.nan)
        replayed = pd.Index(schedule.workload.jobs["job_id"].astype(str))
        end[ids.get_indexer(replayed)] = schedule.end_s
        implied = graph.released(workload.submit_s, end, workload.duration_s)
        if np.array_equal(implied, release):
            notes = (*schedule.notes, *_said(graph, workload, end, ideal_end, rounds))
            return replace(schedule, notes=notes)
        release = implied
    raise InputError(
        f"depends: releases and ends do not agree after {rounds:,} rounds: a rule of this replay "
        "looks into the future. Leave out noise, failures, or the order."
    )


def _said(
    graph: DependencyGraph, workload: Workload, end_s: Floats, ideal_end_s: Floats, rounds: int
) -> list[str]:
    """Say how many jobs wait for others, and what the cluster adds to the critical paths."""
    children = len(np.unique(graph.child))
    said = [
        f"{counted(children, 'job')} waiting for others, {len(graph.levels):,} deep; submitted "
        f"when the last parent ends. Replayed in {counted(rounds, 'round')}, until ends and "
        "submissions agreed"
    ]
    runs = workload.jobs["parent_id"] if "parent_id" in workload.jobs else pd.Series(dtype=str)
    ran = np.isfinite(end_s)
    if runs.notna().any() and ran.all():
        table = pd.DataFrame({"submit": workload.submit_s, "end": end_s, "ideal": ideal_end_s})
        spans = table.groupby(runs.to_numpy()).agg({"submit": "min", "end": "max", "ideal": "max"})
        taken, ideal = spans["end"] - spans["submit"], spans["ideal"] - spans["submit"]
        said.append(
            f"{counted(len(spans), 'run')}: {units.duration(float(taken.mean()))} on average; the "
            f"longest chains of jobs alone take {units.duration(float(ideal.mean()))}"
        )
    if graph.unknown:
        said.append(f"{counted(graph.unknown, 'named parent')} not in the trace, taken for done")
    return said
