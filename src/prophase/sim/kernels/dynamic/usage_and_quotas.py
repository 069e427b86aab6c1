"""What users have used and hold: decayed usage, dominant shares and quotas."""

from __future__ import annotations

import math

from prophase.sim.compilation import njit
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
    JOB_CHARGE,
    JOB_USER,
    LOOP,
    OWNER_CPU,
    OWNER_DOMINANT,
    OWNER_GPU,
    OWNER_LOOKED,
    OWNER_MEMORY,
    OWNER_PARENT,
    OWNER_RATE,
    OWNER_USAGE,
)


@njit(**LOOP)
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


@njit(**LOOP)
def charge_owner(owners, table, job, asks, shape, sign, now, half_life):
    """Charge a job's owner, and all above, for what it takes (sign 1) or gives back (-1)."""
    usage, whole = owners.table, owners.whole
    owner, charge = int(table[job, JOB_USER]), table[job, JOB_CHARGE]
    instances = asks[shape, ASK_INSTANCES]
    gpus = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    while owner >= 0:
        update_usage(usage, owner, now, half_life)
        usage[owner, OWNER_RATE] += sign * charge
        # whole numbers, so that who holds nothing has a share of exactly 0
        usage[owner, OWNER_GPU] += sign * gpus * instances
        usage[owner, OWNER_CPU] += sign * asks[shape, ASK_CPU] * instances
        usage[owner, OWNER_MEMORY] += sign * asks[shape, ASK_MEMORY] * instances
        largest = max(usage[owner, OWNER_CPU] / whole[1], usage[owner, OWNER_MEMORY] / whole[2])
        usage[owner, OWNER_DOMINANT] = max(usage[owner, OWNER_GPU] / whole[0], largest)
        owner = int(usage[owner, OWNER_PARENT])


@njit(**LOOP)
def within_quota(owners, job, asks, shape):
    """Tell whether a job may start beside what its user and its queue hold."""
    quotas, instances = owners.quotas, asks[shape, ASK_INSTANCES]
    gpus = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI] * instances
    for column in range(owners.quota_of.shape[1]):
        row = owners.quota_of[job, column]
        if row >= 0 and (
            quotas[row, HELD_GPU] + gpus > quotas[row, QUOTA_GPU]
            or quotas[row, HELD_CPU] + asks[shape, ASK_CPU] * instances > quotas[row, QUOTA_CPU]
            or quotas[row, HELD_MEMORY] + asks[shape, ASK_MEMORY] * instances
            > quotas[row, QUOTA_MEMORY]
            or quotas[row, HELD_JOBS] + 1 > quotas[row, QUOTA_JOBS]
        ):
            return False
    return True


@njit(**LOOP)
def charge_quota(owners, job, asks, shape, sign):
    """Charge what a job takes (sign 1) or gives back (-1) to its quotas."""
    quotas, instances = owners.quotas, asks[shape, ASK_INSTANCES]
    for column in range(owners.quota_of.shape[1]):
        row = owners.quota_of[job, column]
        if row >= 0:
            gpus = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
            quotas[row, HELD_GPU] += sign * gpus * instances
            quotas[row, HELD_CPU] += sign * asks[shape, ASK_CPU] * instances
            quotas[row, HELD_MEMORY] += sign * asks[shape, ASK_MEMORY] * instances
            quotas[row, HELD_JOBS] += sign
