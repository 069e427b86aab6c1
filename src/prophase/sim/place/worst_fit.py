"""Worst fit: the node with the most idle GPUs, so that load spreads."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.signatures import CPU, FREE_CPU, FREE_GPU, SCORE, Floats, Ints


@njit(SCORE, cache=True)
def worst_fit(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate a node the higher, the more it has free."""
    return float(nodes[node, FREE_GPU]) + nodes[node, FREE_CPU] / (nodes[node, CPU] + 1.0)
