"""Best fit: the node that is left with the fewest idle GPUs, then with the fewest idle cores."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_MILLI,
    CPU,
    FREE_CPU,
    FREE_GPU,
    SCORE,
    Floats,
    Ints,
)


@njit(SCORE, cache=True)
def best_fit(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate a node the higher, the less it has left."""
    gpu_left = nodes[node, FREE_GPU] - asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI]
    cpu_left = nodes[node, FREE_CPU] - asks[shape, ASK_CPU]
    return -float(gpu_left) - cpu_left / (nodes[node, CPU] + 1.0)
