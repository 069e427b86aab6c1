"""Limits of users, accounts, qualities of service and arrays: what may be held at a time."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.kernels.slurm.array_layout import LIMITED
from prophase.sim.signatures import ASK_CPU, ASK_GPUS, ASK_INSTANCES, ASK_MEMORY, LOOP


@njit(**LOOP)
def within_limits(job, jobs, owners):
    """Tell whether a job may start beside what those hold that its limits are about."""
    asks, shape, limits = jobs.asks, jobs.shape_of[job], owners.limits
    instances = asks[shape, ASK_INSTANCES]
    for place in range(jobs.limit_first[job], jobs.limit_first[job + 1]):
        row = jobs.limit_rows[place]
        if (
            limits[row, LIMITED] + asks[shape, ASK_CPU] * instances > limits[row, 0]
            or limits[row, LIMITED + 1] + asks[shape, ASK_MEMORY] * instances > limits[row, 1]
            or limits[row, LIMITED + 2] + asks[shape, ASK_GPUS] * instances > limits[row, 2]
            or limits[row, LIMITED + 3] + instances > limits[row, 3]
            or limits[row, LIMITED + 4] + 1 > limits[row, 4]
        ):
            return False
    return True


@njit(**LOOP)
def charge_limits(job, jobs, owners, sign):
    """Count what a job takes (sign 1) or gives back (-1) against its limits."""
    asks, shape, limits = jobs.asks, jobs.shape_of[job], owners.limits
    instances = asks[shape, ASK_INSTANCES]
    for place in range(jobs.limit_first[job], jobs.limit_first[job + 1]):
        row = jobs.limit_rows[place]
        limits[row, LIMITED] += sign * asks[shape, ASK_CPU] * instances
        limits[row, LIMITED + 1] += sign * asks[shape, ASK_MEMORY] * instances
        limits[row, LIMITED + 2] += sign * asks[shape, ASK_GPUS] * instances
        limits[row, LIMITED + 3] += sign * instances
        limits[row, LIMITED + 4] += sign
