"""What users have used and hold: decayed usage, dominant shares and quotas."""

from __future__ import annotations

import math

from numba import njit

from prophase.sim.kernels.dynamic.array_layout import (
    HELD_CPU,
    HELD_GPU,
    HELD_JOBS,
    HELD_MEMORY,
    QUOTA_CPU,
    QUOTA_GPU,
    QUOTA_JOBS,
    QUOTA_MEMORY,
)
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MEMORY,
    ASK_MILLI,
    OWNER_CPU,
    OWNER_DOMINANT,
    OWNER_GPU,
    OWNER_LOOKED,
    OWNER_MEMORY,
    OWNER_PARENT,
    OWNER_RATE,
    OWNER_USAGE,
)


@njit(cache=True)
def update_usage(owners, owner, now, half_life):
    """Bring an owner's usage up to now: it grows by what runs and halves with the half-life."""
    passed = now - owners[owner, OWNER_LOOKED]
    if passed <= 0:
        return
    if half_life > 0:
        fade = math.log(2.0) / half_life
        left = math.exp(-fade * passed)
        grown = owners[owner, OWNER_RATE] * (1.0 - left) / fade
        owners[owner, OWNER_USAGE] = owners[owner, OWNER_USAGE] * left + grown
    else:
        owners[owner, OWNER_USAGE] += owners[owner, OWNER_RATE] * passed
    owners[owner, OWNER_LOOKED] = now


@njit(cache=True)
def charge_owner(owners, owner, charge, asks, shape, whole, sign, now, half_life):
    """Charge an owner, and all above, for what a job takes (sign 1) or gives back (-1)."""
    instances = asks[shape, ASK_INSTANCES]
    gpus = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    while owner >= 0:
        update_usage(owners, owner, now, half_life)
        owners[owner, OWNER_RATE] += sign * charge
        # whole numbers, so that who holds nothing has a share of exactly 0
        owners[owner, OWNER_GPU] += sign * gpus * instances
        owners[owner, OWNER_CPU] += sign * asks[shape, ASK_CPU] * instances
        owners[owner, OWNER_MEMORY] += sign * asks[shape, ASK_MEMORY] * instances
        largest = max(owners[owner, OWNER_CPU] / whole[1], owners[owner, OWNER_MEMORY] / whole[2])
        owners[owner, OWNER_DOMINANT] = max(owners[owner, OWNER_GPU] / whole[0], largest)
        owner = int(owners[owner, OWNER_PARENT])


@njit(cache=True)
def within_quota(quotas, quota_of, job, asks, shape):
    """Tell whether a job may start beside what its user and its queue hold."""
    instances = asks[shape, ASK_INSTANCES]
    gpus = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI] * instances
    for column in range(quota_of.shape[1]):
        row = quota_of[job, column]
        if row >= 0 and (
            quotas[row, HELD_GPU] + gpus > quotas[row, QUOTA_GPU]
            or quotas[row, HELD_CPU] + asks[shape, ASK_CPU] * instances > quotas[row, QUOTA_CPU]
            or quotas[row, HELD_MEMORY] + asks[shape, ASK_MEMORY] * instances
            > quotas[row, QUOTA_MEMORY]
            or quotas[row, HELD_JOBS] + 1 > quotas[row, QUOTA_JOBS]
        ):
            return False
    return True


@njit(cache=True)
def charge_quota(quotas, quota_of, job, asks, shape, sign):
    """Book what a job takes (sign 1) or gives back (-1) on its quotas."""
    instances = asks[shape, ASK_INSTANCES]
    for column in range(quota_of.shape[1]):
        row = quota_of[job, column]
        if row >= 0:
            gpus = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
            quotas[row, HELD_GPU] += sign * gpus * instances
            quotas[row, HELD_CPU] += sign * asks[shape, ASK_CPU] * instances
            quotas[row, HELD_MEMORY] += sign * asks[shape, ASK_MEMORY] * instances
            quotas[row, HELD_JOBS] += sign
