"""Smallest GPU time first: run time x GPUs, so that a long but narrow job may pass a wide one."""

from __future__ import annotations

import numpy as np

from prophase.sim.signatures import Floats
from prophase.sim.workload import Workload


def smallest_gpu_time(workload: Workload) -> Floats:
    """Rank jobs by GPU-seconds; jobs without a GPU by run time alone."""
    gpus = workload.gpus
    work: Floats = workload.duration_s * np.where(gpus > 0, gpus, 1.0)
    return work
