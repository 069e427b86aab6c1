"""GPU clustering: jobs of one kind (a share, 1 GPU, 2 GPUs ...) together, fuller nodes first.

Source of the rule: Weng et al., "Beware of Fragmentation", USENIX ATC 2023. ``facts`` holds the
GPUs (milli) of the largest node.
"""

from __future__ import annotations

import numpy as np

from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.kernels.gpu_occupancy import company
from prophase.sim.signatures import ASK_GPUS, FREE_GPU, GPUS, SCORE, Floats, Ints


@njit(SCORE, cache=True)
def gpu_clustering(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate 3 for nodes with one's own kind alone, 2 among others, 1 if empty, 0 for the rest.

    On top comes up to 1, the more, the fewer GPUs are free. Jobs without a GPU rate all alike.
    """
    if asks[shape, ASK_GPUS] == 0:
        return 0.0
    return company(nodes, node, asks, shape) + 1.0 - nodes[node, FREE_GPU] / facts[0, 0]


def prepare(asks: Ints, cluster: Cluster, seed: int) -> Floats:
    """Return the GPUs of the largest node."""
    return np.array([[max(1000.0 * cluster.matrix[:, GPUS].max(), 1.0)]])
