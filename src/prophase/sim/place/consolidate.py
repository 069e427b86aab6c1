"""Consolidate: the node that takes most of the job, so that a gang spans the fewest nodes."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MILLI,
    FREE_CPU,
    FREE_GPU,
    SCORE,
    Floats,
    Ints,
)

FILL = True


@njit(SCORE, cache=True)
def consolidate(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate a node by the instances it could take, then the higher, the less it has left."""
    most = asks[shape, ASK_INSTANCES]
    asked = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    if asked > 0:
        most = min(most, nodes[node, FREE_GPU] // asked)
    if asks[shape, ASK_CPU] > 0:
        most = min(most, nodes[node, FREE_CPU] // asks[shape, ASK_CPU])
    left = nodes[node, FREE_GPU] - most * asked
    return most - left / 1e6
