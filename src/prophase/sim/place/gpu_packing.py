"""GPU packing: GPUs in use before idle ones, idle ones of nodes in use before idle nodes.

So that as many nodes as possible stay whole. Source of the rule: Weng et al., "Beware of
Fragmentation", USENIX ATC 2023. ``facts`` holds the GPUs of the largest node.
"""

from __future__ import annotations

import numpy as np

from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.kernels.gpu_occupancy import gpus_touched
from prophase.sim.signatures import ASK_GPUS, FREE_WHOLE, GPUS, SCORE, Floats, Ints


@njit(SCORE, cache=True)
def gpu_packing(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate from 2 for GPUs in use, from 1 for nodes in use, from 0 for idle nodes.

    On top comes less than 1: the more, the tighter the fit on GPUs in use, the fewer idle GPUs
    are begun, the smaller the idle node. Jobs without a GPU rate all nodes alike.
    """
    if asks[shape, ASK_GPUS] == 0:
        return 0.0
    above = facts[0, 0] + 1.0
    if nodes[node, FREE_WHOLE] == nodes[node, GPUS]:
        return 1.0 - nodes[node, GPUS] / above
    idle, free_milli = gpus_touched(nodes, node, asks, shape)
    if idle > 0:
        return 2.0 - idle / above
    return 3.0 - free_milli / (1000.0 * above)


def prepare(asks: Ints, cluster: Cluster, seed: int) -> Floats:
    """Return the GPUs of the largest node."""
    return np.array([[float(cluster.matrix[:, GPUS].max())]])
