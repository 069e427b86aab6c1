"""The node orders of Alibaba's PAI simulator, as place policies on pooled GPUs."""

from __future__ import annotations

import numpy as np
from numba import njit

from prophase.sim.signatures import CPU, FREE_CPU, FREE_GPU, GPUS, SCORE, Floats, Ints


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
