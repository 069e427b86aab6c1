"""Emptiest first: a job goes to the node with the largest share of its cores free.

A place is compiled to the published signature ``SCORE``; of all nodes that fit, the one with the
highest score is taken. It must not change what it is given.
"""

from __future__ import annotations

from numba import njit

from prophase.sim.signatures import CPU, FREE_CPU, SCORE


@njit(SCORE, cache=True)
def emptiest_first(nodes, node, asks, shape, facts):  # type: ignore[no-untyped-def]
    """Rate a node by the free share of its cores."""
    return nodes[node, FREE_CPU] / (nodes[node, CPU] + 1.0)
