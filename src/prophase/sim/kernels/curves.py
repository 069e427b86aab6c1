"""Measures after every arrival: what is allocated, and how fragmented the idle GPUs are."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_MILLI,
    FLOAT_GRID,
    FLOAT_LINE,
    FREE_CPU,
    FREE_GPU,
    FREE_SHARE,
    GPUS,
    INT_GRID,
    INT_LINE,
)

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
