"""Most allocated: the node of which the largest share would be requested, as in Kubernetes.

The score of kube-scheduler's plugin ``NodeResourcesFit`` with the strategy ``MostAllocated``, which
packs pods; see ``least_allocated`` for how shares become points.
"""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_MEMORY,
    ASK_MILLI,
    CPU,
    FREE_CPU,
    FREE_GPU,
    FREE_MEMORY,
    GPUS,
    MEMORY,
    SCORE,
    Floats,
    Ints,
)


@njit(SCORE, cache=True)
def most_allocated(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate a node the higher, the larger the shares that are requested."""
    points, counted = 0, 0
    if nodes[node, CPU] > 0:
        held = nodes[node, CPU] - nodes[node, FREE_CPU] + asks[shape, ASK_CPU]
        points += held * 100 // nodes[node, CPU]
        counted += 1
    if nodes[node, MEMORY] > 0:
        held = nodes[node, MEMORY] - nodes[node, FREE_MEMORY] + asks[shape, ASK_MEMORY]
        points += held * 100 // nodes[node, MEMORY]
        counted += 1
    asked = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    if asked > 0 and nodes[node, GPUS] > 0:
        held = 1000 * nodes[node, GPUS] - nodes[node, FREE_GPU] + asked
        points += held * 100 // (1000 * nodes[node, GPUS])
        counted += 1
    return float(points // max(counted, 1))
