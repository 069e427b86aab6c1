"""The scores of the openb experiments: whole numbers from 0 to 100, as the originals give."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from prophase.sim.compilation import njit
from prophase.sim.kernels.gpu_occupancy import company, gpus_touched
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_MILLI,
    CPU,
    FLOAT_GRID,
    FLOAT_LINE,
    FREE_CPU,
    FREE_GPU,
    FREE_SHARE,
    FREE_WHOLE,
    GPUS,
    INT_GRID,
    INT_LINE,
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
    # both halves first: subtracting one after the other rounds otherwise, and 74 becomes 73
    return math.floor(100.0 * (1.0 - (0.5 * cpu_left + 0.5 * gpu_left)))


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


#: fragmentation of a node after taking (nodes, node, classes, cpu, milli, bits)
FRAGMENTATION = types.float64(
    INT_GRID, types.int64, FLOAT_GRID, types.int64, types.int64, types.int64
)


@njit(
    types.void(
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT_LINE,
        FLOAT_GRID,
        types.FunctionType(FRAGMENTATION),
        FLOAT_LINE,
        FLOAT_LINE,
    ),
    cache=True,
)
def measure_arrivals(nodes, asks, on_node, on_gpus, classes, fragmentation, allocated, fragmented):
    """Fill the milli-GPUs allocated and fragmented after each arrival; -1 is a pod left out."""
    of_node = np.empty(nodes.shape[0], np.float64)
    for node in range(nodes.shape[0]):
        of_node[node] = fragmentation(nodes, node, classes, 0, 0, 0)
    total, used = of_node.sum(), 0
    for pod in range(on_node.size):
        node = on_node[pod]
        if node >= 0:
            milli = asks[pod, ASK_MILLI]
            nodes[node, FREE_CPU] -= asks[pod, ASK_CPU]
            for gpu in range(nodes[node, GPUS]):
                if (on_gpus[pod] >> gpu) & 1:
                    nodes[node, FREE_SHARE + gpu] -= milli
            nodes[node, FREE_GPU] -= asks[pod, ASK_GPUS] * milli
            used += asks[pod, ASK_GPUS] * milli
            total -= of_node[node]
            of_node[node] = fragmentation(nodes, node, classes, 0, 0, 0)
            total += of_node[node]
        allocated[pod] = used
        fragmented[pod] = total


@njit(SCORE, cache=True)
def by_id(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Order 0: the first node that fits."""
    return 0.0


@njit(SCORE, cache=True)
def least_idle_gpu(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Order 1: least idle GPU first."""
    return -float(nodes[node, FREE_GPU])


@njit(SCORE, cache=True)
def most_idle_gpu(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Order 2: most idle GPU first."""
    return float(nodes[node, FREE_GPU])


@njit(SCORE, cache=True)
def least_used(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Order 3: lowest mean of GPU and CPU use first, in whole percent."""
    used = 1.0 - nodes[node, FREE_CPU] / nodes[node, CPU]
    if nodes[node, GPUS] > 0:
        used = (used + 1.0 - nodes[node, FREE_GPU] / (nodes[node, GPUS] * 100)) / 2.0
    return -np.round(100.0 * used)
