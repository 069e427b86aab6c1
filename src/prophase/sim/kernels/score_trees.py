"""The best node for a shape: the root of a tree over nodes, in which the higher score rises.

Only nodes that changed since the shape was last asked for are rated again. Shapes that are too
rare for a tree of their own look at every node; policies that draw lots draw nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from prophase.sim.array_groups import compiled
from prophase.sim.compilation import njit
from prophase.sim.kernels.node_resources import fits
from prophase.sim.signatures import (
    CHOICE_FUNCTION,
    FLOAT_GRID,
    INT,
    INT_GRID,
    SCORE_FUNCTION,
    STEP,
    Flag,
    FloatGrid,
    IntGrid,
    IntLine,
)

#: columns of the table of trees: a shape's tree and how much of the change log it has seen; the
#: row of scores that counts how many instances each node has room for, how much of the change
#: log that row has seen, and its sum
TREE, SEEN, ROOM_ROW, ROOM_SEEN, ROOM = range(5)
TREE_COLUMNS = 5
#: in place of a tree's or row's number: look at every node, or draw nodes by lot
SCAN, DRAW = -1, -2
#: draws before all nodes are looked at after all; more would only help the fullest cluster
_DRAWS = 64


class ScoreTrees(NamedTuple):
    """Scores of nodes by shape, and the nodes that changed since they were rated."""

    scores: FloatGrid
    #: one row per shape
    of_shape: IntGrid
    #: the last nodes that changed, a power of two of places, and how many changed so far
    log: IntLine
    changes: IntLine


class PlaceRules(NamedTuple):
    """A place policy without its functions."""

    facts: FloatGrid
    #: may a fraction straddle two GPUs of a node?
    pooled: Flag
    #: does a gang pack a node full before the next one is taken?
    fill: Flag


TREES, PLACE_RULES = compiled(ScoreTrees), compiled(PlaceRules)


class Policy(NamedTuple):
    """A place policy as the steps of a loop take it."""

    score: Any
    choose_gpu: Any
    rules: PlaceRules


#: made inside compiled code: numba does not take functions within a tuple from outside
POLICY = types.NamedTuple([SCORE_FUNCTION, CHOICE_FUNCTION, PLACE_RULES], Policy)


@njit(types.void(TREES, INT), **STEP)
def note_change(trees: ScoreTrees, node: int) -> None:
    """Write down that a node changed."""
    changes = trees.changes[0]
    trees.log[changes & (trees.log.size - 1)] = node
    trees.changes[0] = changes + 1


@njit(types.void(POLICY, INT_GRID, INT, INT_GRID, INT, FLOAT_GRID, INT), **STEP)
def _rate(policy, nodes, node, asks, shape, scores, tree):
    """Rate one node for a shape again and let the higher score of each pair rise to the root."""
    mine = -np.inf
    if fits(nodes, node, asks, shape, policy.rules.pooled):
        mine = policy.score(nodes, node, asks, shape, policy.rules.facts)
    place = scores.shape[1] // 2 + node
    while place >= 1 and scores[tree, place] != mine:
        scores[tree, place] = mine
        mine = max(mine, scores[tree, place ^ 1])
        place >>= 1


@njit(types.void(POLICY, INT_GRID, INT_GRID, INT, FLOAT_GRID, INT), **STEP)
def _rate_all(policy, nodes, asks, shape, scores, tree):
    """Rate every node for a shape and build its tree from the leaves."""
    width = scores.shape[1] // 2
    # place 0 is nobody's, but stands beside the root
    scores[tree, 0] = -np.inf
    scores[tree, width + nodes.shape[0] :] = -np.inf
    for node in range(nodes.shape[0]):
        scores[tree, width + node] = -np.inf
        if fits(nodes, node, asks, shape, policy.rules.pooled):
            scores[tree, width + node] = policy.score(nodes, node, asks, shape, policy.rules.facts)
    for place in range(width - 1, 0, -1):
        scores[tree, place] = max(scores[tree, 2 * place], scores[tree, 2 * place + 1])


@njit(INT(POLICY, INT_GRID, INT_GRID, INT), **STEP)
def scan(policy, nodes, asks, shape):
    """Look at every node; return the one with the highest score on which the shape fits, or -1."""
    chosen, highest = -1, -np.inf
    for node in range(nodes.shape[0]):
        if fits(nodes, node, asks, shape, policy.rules.pooled):
            mine = policy.score(nodes, node, asks, shape, policy.rules.facts)
            if chosen < 0 or mine > highest:
                chosen, highest = node, mine
    return chosen


@njit(INT(POLICY, INT_GRID, INT_GRID, INT), **STEP)
def _draw(policy, nodes, asks, shape):
    """Draw nodes until one fits, every node as likely; the score is the lot, from 0 to 1."""
    for _ in range(_DRAWS):
        node = int(policy.score(nodes, 0, asks, shape, policy.rules.facts) * nodes.shape[0])
        if fits(nodes, node, asks, shape, policy.rules.pooled):
            return node
    return scan(policy, nodes, asks, shape)


@njit(INT(POLICY, INT_GRID, INT_GRID, INT, TREES), **STEP)
def best_node(policy, nodes, asks, shape, trees):
    """Return the node with the highest score on which the shape fits, or -1."""
    tree, scores = trees.of_shape[shape, TREE], trees.scores
    if tree == DRAW:
        return _draw(policy, nodes, asks, shape)
    if tree == SCAN:
        return scan(policy, nodes, asks, shape)
    seen, changes = trees.of_shape[shape, SEEN], trees.changes[0]
    if seen < 0 or (changes - seen) * 4 > nodes.shape[0]:
        _rate_all(policy, nodes, asks, shape, scores, tree)
    else:
        for change in range(seen, changes):
            node = trees.log[change & (trees.log.size - 1)]
            _rate(policy, nodes, node, asks, shape, scores, tree)
    trees.of_shape[shape, SEEN] = changes
    highest = scores[tree, 1]
    if highest == -np.inf:
        return -1
    place, width = 1, scores.shape[1] // 2
    while place < width:
        place *= 2
        if scores[tree, place] != highest:
            place += 1
    return place - width
