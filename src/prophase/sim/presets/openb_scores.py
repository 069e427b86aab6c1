"""The scores of the openb experiments: whole numbers from 0 to 100, as the originals give."""

from __future__ import annotations

import math

from numba import njit

from prophase.sim.kernels.sitting import company, gpus_touched
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_MILLI,
    FREE_CPU,
    FREE_GPU,
    FREE_WHOLE,
    GPUS,
    SCORE,
    Floats,
    Ints,
)

#: the largest node of the trace, to which the originals relate everything
LARGEST_CPU, LARGEST_GPU = 128_000, 8_000


@njit(SCORE, cache=True)
def best_fit(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate a node the higher, the less CPU and GPU it has left, each weighing half."""
    cpu_left = (nodes[node, FREE_CPU] - asks[shape, ASK_CPU]) / LARGEST_CPU
    gpu_left = (
        nodes[node, FREE_GPU] - asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    ) / LARGEST_GPU
    return math.floor(100.0 * (1.0 - 0.5 * cpu_left - 0.5 * gpu_left))


@njit(SCORE, cache=True)
def dot_product(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate a node the higher, the less its free resources align with the request."""
    cpu = nodes[node, FREE_CPU] / LARGEST_CPU * asks[shape, ASK_CPU] / LARGEST_CPU
    asked = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    gpu = nodes[node, FREE_GPU] / LARGEST_GPU * asked / LARGEST_GPU
    return math.floor(100.0 * (1.0 - 0.5 * (cpu + gpu)))


@njit(SCORE, cache=True)
def gpu_clustering(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Keep pods of one kind (shared, 1 GPU, 2 GPUs ...) together, fuller nodes first."""
    if asks[shape, ASK_GPUS] == 0:
        return 0.0
    fullness = 25 * (LARGEST_GPU - nodes[node, FREE_GPU]) // LARGEST_GPU
    return float(fullness + 25 * company(nodes, node, asks, shape))


@njit(SCORE, cache=True)
def gpu_packing(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Fill GPUs that are in use before free ones, and nodes in use before empty ones."""
    if asks[shape, ASK_GPUS] == 0:
        return 0.0
    gpus = nodes[node, GPUS]
    if nodes[node, FREE_WHOLE] == gpus:
        return float(max(33 - gpus, gpus))
    idle, free_milli = gpus_touched(nodes, node, asks, shape)
    if idle:
        return float(max(50 - idle, 33))
    return float(max(100 - free_milli // 100, 50))
