"""The best node for a shape: the root of a tournament tree over nodes.

Only nodes that changed since the shape was last asked for are rated again.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.kernels.nodes import fits
from prophase.sim.signatures import (
    FLAG,
    FLOAT_GRID,
    INT,
    INT_GRID,
    INT_LINE,
    SCORE_FUNCTION,
)

#: columns of the shape state: its queue (where it begins, how long it is), the release count
#: at which it was last found not to fit, and how much of the change log its tree has seen
QUEUE_FIRST, QUEUE_SIZE, BLOCKED_AT, SEEN = range(4)


@njit(
    types.void(
        SCORE_FUNCTION, INT_GRID, INT_GRID, INT, INT, FLOAT_GRID, FLAG, FLOAT_GRID, INT_GRID
    ),
    cache=True,
)
def _rate(score, nodes, asks, shape, node, facts, pooled, scores, winners):
    """Rate one node for a shape again and let the better one of each pair rise to the root."""
    mine = (
        score(nodes, node, asks, shape, facts)
        if fits(nodes, node, asks, shape, pooled)
        else -np.inf
    )
    if mine == scores[shape, node]:
        return
    scores[shape, node] = mine
    place = (winners.shape[1] // 2 + node) // 2
    while place >= 1:
        before = winners[shape, place]
        left, right = winners[shape, 2 * place], winners[shape, 2 * place + 1]
        better = right >= 0 and scores[shape, right] > scores[shape, left]
        winner = right if better else left
        winners[shape, place] = winner
        if winner == before and winner != node:
            # further up nobody has met this node, and nobody will now
            return
        place //= 2


@njit(
    types.void(SCORE_FUNCTION, INT_GRID, INT_GRID, INT, FLOAT_GRID, FLAG, FLOAT_GRID, INT_GRID),
    cache=True,
)
def _rate_all(score, nodes, asks, shape, facts, pooled, scores, winners):
    """Rate every node for a shape and build its tree from the leaves."""
    width = winners.shape[1] // 2
    for node in range(nodes.shape[0]):
        fit = fits(nodes, node, asks, shape, pooled)
        scores[shape, node] = score(nodes, node, asks, shape, facts) if fit else -np.inf
        winners[shape, width + node] = node
    for place in range(width - 1, 0, -1):
        left, right = winners[shape, 2 * place], winners[shape, 2 * place + 1]
        better = right >= 0 and scores[shape, right] > scores[shape, left]
        winners[shape, place] = right if better else left


@njit(
    INT(
        SCORE_FUNCTION,
        INT_GRID,
        INT_GRID,
        INT,
        FLOAT_GRID,
        FLAG,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT,
    ),
    cache=True,
)
def best_node(score, nodes, asks, shape, facts, pooled, scores, winners, shapes, log, changes):
    """Return the node with the highest score on which the shape fits, or -1."""
    count = nodes.shape[0]
    if winners.shape[1] == 1:
        # too many shapes to keep a tree for each: look at every node
        chosen, highest = -1, -np.inf
        for node in range(count):
            if fits(nodes, node, asks, shape, pooled):
                mine = score(nodes, node, asks, shape, facts)
                if chosen < 0 or mine > highest:
                    chosen, highest = node, mine
        return chosen
    seen = shapes[shape, SEEN]
    if seen < 0 or (changes - seen) * 4 > count:
        _rate_all(score, nodes, asks, shape, facts, pooled, scores, winners)
    else:
        for change in range(seen, changes):
            node = log[change % log.size]
            _rate(score, nodes, asks, shape, node, facts, pooled, scores, winners)
    shapes[shape, SEEN] = changes
    root = winners[shape, 1]
    return root if scores[shape, root] > -np.inf else -1
