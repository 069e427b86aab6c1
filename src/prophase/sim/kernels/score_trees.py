"""The best node for a shape: the root of a tree over nodes, in which the higher score rises.

Only nodes that changed since the shape was last asked for are rated again. Shapes that are too
rare for a tree of their own look at every node; policies that draw lots draw nodes.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.kernels.node_resources import fits
from prophase.sim.signatures import (
    FLAG,
    FLOAT_GRID,
    INT,
    INT_GRID,
    INT_LINE,
    SCORE_FUNCTION,
    STEP,
)

#: columns of the shape state: its queue (where it begins, how long it is), the pass in which
#: it was last found not to fit, and how much of the change log its tree has seen
QUEUE_FIRST, QUEUE_SIZE, BLOCKED_AT, SEEN = range(4)
#: columns of the table of trees: a shape's tree, the row of scores that counts how many
#: instances each node has room for, how much of the change log that row has seen, and its sum
TREE, ROOM_ROW, ROOM_SEEN, ROOM = range(4)
#: in place of a tree's or row's number: look at every node, or draw nodes by lot
SCAN, DRAW = -1, -2
#: draws before all nodes are looked at after all; more would only help the fullest cluster
_DRAWS = 64


@njit(
    types.void(SCORE_FUNCTION, INT_GRID, INT_GRID, INT, INT, FLOAT_GRID, FLAG, FLOAT_GRID, INT),
    **STEP,
)
def _rate(score, nodes, asks, shape, node, facts, pooled, scores, tree):
    """Rate one node for a shape again and let the higher score of each pair rise to the root."""
    mine = -np.inf
    if fits(nodes, node, asks, shape, pooled):
        mine = score(nodes, node, asks, shape, facts)
    place = scores.shape[1] // 2 + node
    while place >= 1 and scores[tree, place] != mine:
        scores[tree, place] = mine
        mine = max(mine, scores[tree, place ^ 1])
        place >>= 1


@njit(
    types.void(SCORE_FUNCTION, INT_GRID, INT_GRID, INT, FLOAT_GRID, FLAG, FLOAT_GRID, INT),
    **STEP,
)
def _rate_all(score, nodes, asks, shape, facts, pooled, scores, tree):
    """Rate every node for a shape and build its tree from the leaves."""
    width = scores.shape[1] // 2
    # place 0 is nobody's, but stands beside the root
    scores[tree, 0] = -np.inf
    scores[tree, width + nodes.shape[0] :] = -np.inf
    for node in range(nodes.shape[0]):
        scores[tree, width + node] = -np.inf
        if fits(nodes, node, asks, shape, pooled):
            scores[tree, width + node] = score(nodes, node, asks, shape, facts)
    for place in range(width - 1, 0, -1):
        scores[tree, place] = max(scores[tree, 2 * place], scores[tree, 2 * place + 1])


@njit(INT(SCORE_FUNCTION, INT_GRID, INT_GRID, INT, FLOAT_GRID, FLAG), **STEP)
def _scan(score, nodes, asks, shape, facts, pooled):
    """Look at every node."""
    chosen, highest = -1, -np.inf
    for node in range(nodes.shape[0]):
        if fits(nodes, node, asks, shape, pooled):
            mine = score(nodes, node, asks, shape, facts)
            if chosen < 0 or mine > highest:
                chosen, highest = node, mine
    return chosen


@njit(INT(SCORE_FUNCTION, INT_GRID, INT_GRID, INT, FLOAT_GRID, FLAG), **STEP)
def _draw(score, nodes, asks, shape, facts, pooled):
    """Draw nodes until one fits, every node as likely; the score is the lot, from 0 to 1."""
    for _ in range(_DRAWS):
        node = int(score(nodes, 0, asks, shape, facts) * nodes.shape[0])
        if fits(nodes, node, asks, shape, pooled):
            return node
    return _scan(score, nodes, asks, shape, facts, pooled)


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
    **STEP,
)
def best_node(score, nodes, asks, shape, facts, pooled, scores, tree_of, shapes, log, changes):
    """Return the node with the highest score on which the shape fits, or -1."""
    tree = tree_of[shape, TREE]
    if tree == DRAW:
        return _draw(score, nodes, asks, shape, facts, pooled)
    if tree == SCAN:
        return _scan(score, nodes, asks, shape, facts, pooled)
    seen = shapes[shape, SEEN]
    if seen < 0 or (changes - seen) * 4 > nodes.shape[0]:
        _rate_all(score, nodes, asks, shape, facts, pooled, scores, tree)
    else:
        for change in range(seen, changes):
            node = log[change & (log.size - 1)]
            _rate(score, nodes, asks, shape, node, facts, pooled, scores, tree)
    shapes[shape, SEEN] = changes
    highest = scores[tree, 1]
    if highest == -np.inf:
        return -1
    place, width = 1, scores.shape[1] // 2
    while place < width:
        place *= 2
        if scores[tree, place] != highest:
            place += 1
    return place - width
