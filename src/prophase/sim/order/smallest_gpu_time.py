"""Smallest GPU time first: run time x GPUs, so that a long but narrow job may pass a wide one."""

from __future__ import annotations

import numpy as np

from prophase.sim.signatures import ASK_GPUS, ASK_INSTANCES, ASK_MILLI, Floats
from prophase.sim.workload import Workload


def smallest_gpu_time(workload: Workload) -> Floats:
    """Rank jobs by GPU-seconds; jobs without a GPU by run time alone."""
    asks = workload.asks
    gpus = asks[:, ASK_GPUS] * asks[:, ASK_MILLI] / 1000 * asks[:, ASK_INSTANCES]
    work: Floats = workload.duration_s * np.where(gpus > 0, gpus, 1.0)
    return work
