"""Dot product: the node whose free resources are least like the request.

Source of the rule: Weng et al., "Beware of Fragmentation", USENIX ATC 2023, after Grandl et
al., "Multi-Resource Packing for Cluster Schedulers", SIGCOMM 2014. CPU and GPU count as shares
of the largest node. ``facts`` holds the cores (milli) and GPUs (milli) of that node.
"""

from __future__ import annotations

import numpy as np

from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_MILLI,
    CPU,
    FREE_CPU,
    FREE_GPU,
    GPUS,
    SCORE,
    Floats,
    Ints,
)


@njit(SCORE, cache=True)
def dot_product(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate a node the higher, the smaller the product of what is free and what is asked for."""
    largest_cpu, largest_gpu = facts[0, 0], facts[0, 1]
    cpu = nodes[node, FREE_CPU] / largest_cpu * asks[shape, ASK_CPU] / largest_cpu
    asked = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    gpu = nodes[node, FREE_GPU] / largest_gpu * asked / largest_gpu
    return -cpu - gpu


def prepare(asks: Ints, cluster: Cluster, seed: int) -> Floats:
    """Return the size of the largest node."""
    cpu, gpus = cluster.matrix[:, CPU].max(), cluster.matrix[:, GPUS].max()
    return np.array([[max(cpu, 1.0), max(1000.0 * gpus, 1.0)]])
