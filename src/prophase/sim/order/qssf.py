"""Quasi-shortest service first: least expected GPU time, expected from finished jobs alone.

Source: Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale
GPU Datacenters", SC 2021. The run time expected of a job is the mean of those its user's jobs
with the same request had, of the user's jobs, or of all, whichever is known when it is
submitted: a job counts once its run, had it started at once, would be over.
"""

from __future__ import annotations

import heapq
from collections import defaultdict

import numpy as np
import pandas as pd

from prophase.sim.signatures import Floats
from prophase.sim.workload import Workload


def qssf(workload: Workload) -> Floats:
    """Rank jobs by expected run time x GPUs."""
    gpus = workload.gpus
    service: Floats = expected_duration_s(workload, gpus) * np.where(gpus > 0, gpus, 1.0)
    return service


def expected_duration_s(workload: Workload, gpus: Floats) -> Floats:
    """Return the mean run time of finished jobs alike, by what is known at submission."""
    if "user" in workload.jobs:
        users = pd.factorize(workload.jobs["user"].fillna("").astype(str))[0]
    else:
        users = np.zeros(len(workload), np.int64)
    totals: dict[tuple[object, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
    running: list[tuple[float, int]] = []
    expected = np.zeros(len(workload))
    for job, submit in enumerate(workload.submit_s):
        while running and running[0][0] <= submit:
            _, done = heapq.heappop(running)
            for key in _keys(int(users[done]), float(gpus[done])):
                totals[key][0] += workload.duration_s[done]
                totals[key][1] += 1
        for key in _keys(int(users[job]), float(gpus[job])):
            if key in totals:
                total, count = totals[key]
                expected[job] = total / count
                break
        heapq.heappush(running, (submit + workload.duration_s[job], job))
    return expected


def _keys(user: int, gpus: float) -> tuple[tuple[object, ...], ...]:
    return (user, gpus), (user,), ()
