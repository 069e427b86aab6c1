"""Place all instances of a job, or none, and give back what they hold.

A gang that cannot start is tried whenever a node is freed that could hold one of its instances.
To place instances until one finds no room and to take all of them back costs much more than to
count, and makes every other shape rate the nodes again. So its room is counted first. Counts per
node are kept like scores in trees: only nodes that changed since the shape was last asked for are
counted again.
"""

from __future__ import annotations

from numba import types

from prophase.sim.compilation import njit
from prophase.sim.kernels.node_resources import fits, give_back, most_on, take
from prophase.sim.kernels.score_trees import (
    DRAW,
    POLICY,
    ROOM,
    ROOM_ROW,
    ROOM_SEEN,
    SCAN,
    TREE,
    TREES,
    best_node,
    note_change,
)
from prophase.sim.signatures import ASK_INSTANCES, ASK_LEFT, FLAG, INT, INT_GRID, LOOP

#: columns of the placement matrix, one row per instance: its node and its GPUs as a bit set
ON_NODE, ON_GPUS = range(2)


# called, not inlined: loops would take twice as long to compile
@njit(FLAG(INT_GRID, INT_GRID, INT, FLAG, TREES), **LOOP)
def may_fit(nodes, asks, shape, pooled, trees):
    """Return False if the nodes certainly lack room for all instances of the shape."""
    of_shape, scores, changes = trees.of_shape, trees.scores, trees.changes[0]
    wanted, row = asks[shape, ASK_INSTANCES], of_shape[shape, ROOM_ROW]
    # policies that draw lots draw them for gangs that do not fit as well
    if wanted <= 1 or of_shape[shape, TREE] == DRAW:
        return True
    if row == SCAN:
        found = 0
        for node in range(nodes.shape[0]):
            if found < wanted:
                found += most_on(nodes, node, asks, shape, pooled)
        return found >= wanted
    seen, found = of_shape[shape, ROOM_SEEN], of_shape[shape, ROOM]
    if seen < 0 or (changes - seen) * 4 > nodes.shape[0]:
        found = 0
        for node in range(nodes.shape[0]):
            here = most_on(nodes, node, asks, shape, pooled)
            scores[row, node] = here
            found += here
    else:
        for change in range(seen, changes):
            node = trees.log[change & (trees.log.size - 1)]
            here = most_on(nodes, node, asks, shape, pooled)
            found += here - int(scores[row, node])
            scores[row, node] = here
    of_shape[shape, ROOM_SEEN], of_shape[shape, ROOM] = changes, found
    return found >= wanted


@njit(types.void(INT_GRID, INT_GRID, INT, INT_GRID, INT, INT, TREES), **LOOP)
def free_rows(nodes, asks, shape, placed, first, rows, trees):
    """Give back what placed instances use."""
    for row in range(first, first + rows):
        give_back(nodes, placed[row, ON_NODE], asks, shape, placed[row, ON_GPUS])
        note_change(trees, placed[row, ON_NODE])


@njit(FLAG(POLICY, INT_GRID, INT_GRID, INT, TREES, INT_GRID, INT), **LOOP)
def place_gang(policy, nodes, asks, shape, trees, placed, first):
    """Place every instance of a shape, or none; tell whether it worked."""
    rules = policy.rules
    if not may_fit(nodes, asks, shape, rules.pooled, trees):
        return False
    wanted, done, node = asks[shape, ASK_INSTANCES], 0, -1
    while done < wanted:
        asks[shape, ASK_LEFT] = wanted - done
        if not (rules.fill and node >= 0 and fits(nodes, node, asks, shape, rules.pooled)):
            node = best_node(policy, nodes, asks, shape, trees)
        if node < 0:
            break
        placed[first + done, ON_NODE] = node
        placed[first + done, ON_GPUS] = take(
            policy.choose_gpu, nodes, node, asks, shape, rules.facts, rules.pooled
        )
        note_change(trees, node)
        done += 1
    if done == wanted:
        return True
    free_rows(nodes, asks, shape, placed, first, done, trees)
    for row in range(first, first + done):
        placed[row, ON_NODE] = -1
    return False
