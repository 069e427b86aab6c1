"""Two queues: jobs that have had little GPU time go first, each queue by submission.

Source: Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019
(discretised two-dimensional least attained service).
"""

from __future__ import annotations

import numpy as np

from prophase.errors import ParameterError
from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.owners import Owners
from prophase.sim.signatures import JOB_ATTAINED, JOB_GPUS, JOB_SUBMIT, KEY, Floats
from prophase.sim.workload import Workload

#: later than any submission
_BEHIND = 1e12

#: a job that waits keeps its key
STILL = True
#: the keys of running jobs move alike
ALIKE = "time"


@njit(KEY, cache=True)
def tiresias(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Rank jobs by queue, then by submission."""
    gpus = jobs[job, JOB_GPUS]
    falls_back = jobs[job, JOB_ATTAINED] >= facts[0, 0] / (gpus if gpus > 0 else 1.0)
    return jobs[job, JOB_SUBMIT] + (_BEHIND if falls_back else 0.0)


def prepare(
    workload: Workload, cluster: Cluster, owners: Owners, *, threshold_gpu_s: float = 3600.0
) -> Floats:
    """Set the GPU time after which a job falls back into the second queue."""
    if not threshold_gpu_s > 0:
        raise ParameterError(f"threshold_gpu_s={threshold_gpu_s}: give seconds above 0.")
    return np.array([[threshold_gpu_s]])


def jumps(workload: Workload, facts: Floats) -> Floats:
    """Return after which seconds of running each job falls back."""
    return facts[0, 0] / np.where(workload.gpus > 0, workload.gpus, 1.0)
