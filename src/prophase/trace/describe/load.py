"""How full the cluster was: requests of running jobs over what the nodes have, over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.trace.describe.column_arrays import Floats, NotComputable, has_values, numbers
from prophase.trace.describe.job_counts import instances_of

#: points of a line over the whole trace
_POINTS = 180
#: column of the nodes -> what jobs ask for
_REQUESTS = {
    "gpus": "request_gpus",
    "cpu_cores": "request_cpu_cores",
    "memory_gib": "request_memory_gib",
}


@dataclass(frozen=True)
class LoadOverTime:
    """The mean load between points in time."""

    #: the middle of each stretch
    time_s: tuple[float, ...]
    #: column of the nodes -> requests of running jobs, in percent of what all nodes have
    load_pct: Mapping[str, tuple[float, ...]]
    #: column of the nodes -> mean over the whole time
    mean_pct: Mapping[str, float]
    running: tuple[float, ...]
    #: empty if no job is known to have waited
    waiting: tuple[float, ...]
    most_running: float


def describe_load(jobs: pd.DataFrame, nodes: pd.DataFrame | None) -> LoadOverTime | NotComputable:
    """Return how much ran and waited over time, and how full that made the nodes.

    Examples
    --------
    >>> jobs = pd.DataFrame({"start_s": [0.0], "duration_s": [60.0], "request_gpus": [4.0]})
    >>> found = describe_load(jobs, pd.DataFrame({"gpus": [8.0]}))
    >>> round(found.mean_pct["gpus"]), found.most_running
    (50, 1.0)
    """
    if not has_values(jobs, "start_s", "duration_s"):
        return NotComputable("no start times and durations")
    start, length = numbers(jobs, "start_s"), numbers(jobs, "duration_s")
    ran = np.isfinite(start) & np.isfinite(length) & (length >= 0)
    begin, end = start[ran], start[ran] + length[ran]
    if not begin.size:
        return NotComputable("no job has both a start time and a duration")
    # a few jobs that run for weeks after the last submission must not squeeze the rest
    last = float(np.quantile(end, 0.995))
    if not last > begin.min():
        return NotComputable("all jobs ran at the same instant")
    edges = np.linspace(begin.min(), last, _POINTS + 1)
    several = instances_of(jobs)[ran]
    lines = {}
    for name, request in _REQUESTS.items():
        if nodes is None or not has_values(nodes, name) or not has_values(jobs, request):
            continue
        whole = float(nodes[name].sum())
        asked = np.nan_to_num(numbers(jobs, request)[ran]) * several
        if whole > 0 and asked.sum() > 0:
            lines[name] = 100 * mean_load(begin, end, asked, edges) / whole
    running = mean_load(begin, end, np.ones(len(begin)), edges)
    return LoadOverTime(
        time_s=_listed(0.5 * (edges[:-1] + edges[1:])),
        load_pct={name: _listed(line) for name, line in lines.items()},
        mean_pct={name: float(line.mean()) for name, line in lines.items()},
        running=_listed(running),
        waiting=_listed(_waiting(jobs[ran], edges)),
        most_running=float(running.max()),
    )


def mean_load(begin: Floats, end: Floats, weight: Floats, edges: Floats) -> Floats:
    """Return the mean weight of what is there between each two edges.

    Examples
    --------
    >>> mean_load(np.array([0.0]), np.array([1.5]), np.array([4.0]), np.array([0.0, 1.0, 2.0]))
    array([4., 2.])
    """
    area = _area(begin, weight, edges) - _area(end, weight, edges)
    found: Floats = np.diff(area) / np.diff(edges)
    return found


def _area(since: Floats, weight: Floats, edges: Floats) -> Floats:
    """Return the area up to each edge under weights that set in at some time and stay."""
    # before which edge each of them sets in
    place = np.searchsorted(edges, since, side="right")
    size = len(edges) + 1
    weights = np.cumsum(np.bincount(place, weight, minlength=size))[: len(edges)]
    # from the first edge on: sums of times since 1970 would lose digits
    since = weight * (since - edges[0])
    moments = np.cumsum(np.bincount(place, since, minlength=size))[: len(edges)]
    found: Floats = (edges - edges[0]) * weights - moments
    return found


def _waiting(jobs: pd.DataFrame, edges: Floats) -> Floats:
    if not has_values(jobs, "submit_s"):
        return np.empty(0)
    submit, start = numbers(jobs, "submit_s"), numbers(jobs, "start_s")
    known = np.isfinite(submit) & (submit <= start)
    if not (start[known] > submit[known]).any():
        return np.empty(0)
    return mean_load(submit[known], start[known], np.ones(int(known.sum())), edges)


def _listed(values: Floats) -> tuple[float, ...]:
    return tuple(float(one) for one in values)
