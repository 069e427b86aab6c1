"""The GPU with the least free share that is enough, lowest index among equals."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import ASK_MILLI, CHOOSE_GPU, FREE_SHARE, GPUS, Floats, Ints


@njit(CHOOSE_GPU, cache=True)
def tightest_gpu(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> int:
    """Return the GPU of the node that a share fits most tightly."""
    chosen, least = -1, 1 << 30
    for gpu in range(nodes[node, GPUS]):
        free = nodes[node, FREE_SHARE + gpu]
        if asks[shape, ASK_MILLI] <= free < least:
            chosen, least = gpu, free
    return chosen
