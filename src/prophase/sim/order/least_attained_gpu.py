"""Least attained GPU time first: a wide job uses up its turn sooner than a narrow one."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import JOB_ATTAINED, JOB_GPUS, KEY, Floats

#: a job that waits keeps its key
STILL = True
#: the keys of running jobs with as many GPUs move alike
ALIKE = "gpu_time"


@njit(KEY, cache=True)
def least_attained_gpu(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Rank jobs by the GPU-seconds they have had; jobs without a GPU by seconds."""
    gpus = jobs[job, JOB_GPUS]
    return jobs[job, JOB_ATTAINED] * (gpus if gpus > 0 else 1.0)
