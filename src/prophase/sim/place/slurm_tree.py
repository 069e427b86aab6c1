"""Slurm's choice on a tree of switches: the leaf that just holds the job, nodes by name.

Among leaf switches that can hold what is left of a job, the one with the fewest usable nodes;
if none can, the one with the most. Nodes of a leaf come in the order of the node list. Without
switches (``attr_switch``) all nodes hang on one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.kernels.node_resources import room
from prophase.sim.signatures import ASK_INSTANCES, ASK_LEFT, SCORE, Floats, Ints

#: the score of a node depends on its neighbours at the switch
PURE = False
_MOST_NODES = 1e6


@njit(SCORE, cache=True)
def slurm_tree(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate a node by its leaf switch."""
    usable = places = 0
    for other in range(nodes.shape[0]):
        if facts[other, 0] == facts[node, 0]:
            free = room(nodes, other, asks, shape)
            usable += free > 0
            places += free
    left = max(1, asks[shape, ASK_LEFT])
    if places >= min(left, asks[shape, ASK_INSTANCES]):
        return _MOST_NODES * 2 - usable - facts[node, 0] / _MOST_NODES
    return usable - facts[node, 0] / _MOST_NODES


def prepare(asks: Ints, cluster: Cluster, seed: int) -> Floats:
    """Return the leaf switch of each node, in the order in which the switches are listed."""
    if "attr_switch_rank" in cluster.nodes:
        return cluster.nodes["attr_switch_rank"].fillna(0.0).to_numpy(np.float64)[:, None]
    if "attr_switch" not in cluster.nodes:
        return np.zeros((len(cluster), 1))
    switches = cluster.nodes["attr_switch"].fillna("").astype(str)
    return pd.factorize(switches)[0].astype(np.float64)[:, None]
