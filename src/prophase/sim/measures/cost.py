"""What a schedule costs: what jobs held, and what the cluster had."""

from __future__ import annotations

from typing import Any

import numpy as np

from prophase.sim.cluster import PLENTY, Cluster
from prophase.sim.job_times import JobTimes
from prophase.sim.signatures import CPU, GPU_TYPE, GPUS, MEMORY, Floats
from prophase.trace.prices import Prices

_HOUR_S = 3600.0


def gpu_prices(cluster: Cluster, prices: Prices) -> Floats:
    """Return the price per GPU type as the cluster numbers them, or say which is missing.

    A type without a GPU, such as that of CPU nodes, needs no price.
    """
    matrix = cluster.matrix
    needed = set(matrix[matrix[:, GPUS] > 0, GPU_TYPE].tolist())
    named = enumerate(cluster.gpu_types)
    return np.array([prices.of_gpu(kind) if n in needed else 0.0 for n, kind in named])


def cost_per_hour(cluster: Cluster, prices: Prices) -> float:
    """Return what owning all nodes costs per hour; what they do not state costs nothing.

    Examples
    --------
    >>> cost_per_hour(Cluster.parse("2x8 V100 96c"), Prices({"V100": 2.0}, core_hour=0.01))
    33.92
    """
    matrix = cluster.matrix
    cost = float(matrix[:, GPUS] @ gpu_prices(cluster, prices)[matrix[:, GPU_TYPE]])
    for column, price, unit in (
        (CPU, prices.core_hour, 1000.0),
        (MEMORY, prices.gib_hour, 1024.0),
    ):
        stated = matrix[matrix[:, column] < PLENTY, column]
        cost += price * float(stated.sum()) / unit
    return cost


def job_costs(schedule: JobTimes, prices: Prices) -> Floats:
    """Return what each job held, over all its attempts, in money."""
    held, jobs = schedule.occupancy, len(schedule.workload)
    hours = held.length_s / _HOUR_S
    by_gpu = (
        held.instance_gpus
        * hours[held.attempt]
        * gpu_prices(schedule.cluster, prices)[held.gpu_type]
    )
    others = (held.cores * prices.core_hour + held.memory_gib * prices.gib_hour) * hours
    cost: Floats = np.bincount(held.job[held.attempt], by_gpu, jobs).astype(np.float64)
    cost += np.bincount(held.job, others, jobs)
    return cost


def costs(
    schedule: JobTimes, prices: Prices, job_cost: Floats, lost_share: Floats
) -> dict[str, Any]:
    """Return the cost of what was allocated, lost and owned.

    Parameters
    ----------
    job_cost : array of shape (jobs,)
        From :func:`job_costs`.
    lost_share : array of shape (jobs,)
        Share of each job's running time that brought nothing.
    """
    edges, capacity = schedule.edges, schedule.capacity
    hours = (edges[-1] - edges[0]) / _HOUR_S
    owned = float(capacity.gpus.mean(axis=1) @ gpu_prices(schedule.cluster, prices)) * hours
    unknown = []
    for name, price, amount in (
        ("cores", prices.core_hour, capacity.cores),
        ("memory", prices.gib_hour, capacity.memory_gib),
    ):
        if price and amount is None:
            unknown.append(name)
        elif price and amount is not None:
            owned += price * float(amount.mean()) * hours
    found: dict[str, Any] = {
        "currency": prices.currency or None,
        "allocated": float(job_cost.sum()),
        "allocated_per_job": float(job_cost.mean()),
        "lost": float((job_cost * lost_share).sum()),
        "owned": owned,
    }
    if unknown:
        found["owned_without"] = f"{' and '.join(unknown)}: the nodes do not state them"
    return found
