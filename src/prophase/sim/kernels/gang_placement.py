"""How many instances of a gang the nodes have room for: whether it is worth trying to place it.

A gang that cannot start is tried whenever a node is freed that could hold one of its instances.
To place instances until one finds no room and to take all of them back costs much more than to
count, and makes every other shape rate the nodes anew. Counts per node are kept like scores in
trees: only nodes that changed since the shape was last asked for are counted again.
"""

from __future__ import annotations

from numba import njit, types

from prophase.sim.kernels.node_resources import fits, give_back, take
from prophase.sim.kernels.score_trees import DRAW, ROOM, ROOM_ROW, ROOM_SEEN, SCAN, TREE, best_node
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_FEATURES,
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_LEFT,
    ASK_MEMORY,
    ASK_MILLI,
    ASK_TYPES,
    CHOICE_FUNCTION,
    FEATURES,
    FLAG,
    FLOAT_GRID,
    FREE_CPU,
    FREE_GPU,
    FREE_MEMORY,
    FREE_SHARE,
    FREE_WHOLE,
    GPU_TYPE,
    GPUS,
    INT,
    INT_GRID,
    INT_LINE,
    LOOP,
    SCORE_FUNCTION,
    STEP,
    Ints,
)


@njit(INT(INT_GRID, INT, INT_GRID, INT, FLAG), **STEP)
def most_on(nodes: Ints, node: int, asks: Ints, shape: int, pooled: bool) -> int:
    """Return how many instances of the shape the node could hold now, never too few."""
    if asks[shape, ASK_FEATURES] & ~nodes[node, FEATURES]:
        return 0
    if asks[shape, ASK_TYPES] != 0 and (asks[shape, ASK_TYPES] >> nodes[node, GPU_TYPE]) & 1 == 0:
        return 0
    most = asks[shape, ASK_INSTANCES]
    if asks[shape, ASK_CPU] > 0:
        most = min(most, nodes[node, FREE_CPU] // asks[shape, ASK_CPU])
    if asks[shape, ASK_MEMORY] > 0:
        most = min(most, nodes[node, FREE_MEMORY] // asks[shape, ASK_MEMORY])
    gpus, milli = asks[shape, ASK_GPUS], asks[shape, ASK_MILLI]
    if most <= 0 or gpus * milli <= 0:
        return max(most, 0)
    if pooled:
        return min(most, nodes[node, FREE_GPU] // (gpus * milli))
    if milli == 1000:
        return min(most, nodes[node, FREE_WHOLE] // gpus)
    shares = 0
    for gpu in range(nodes[node, GPUS]):
        shares += max(0, nodes[node, FREE_SHARE + gpu]) // milli
    return min(most, shares // gpus)


# called, not melted in: loops would take twice as long to compile
@njit(FLAG(INT_GRID, INT_GRID, INT, FLAG, FLOAT_GRID, INT_GRID, INT_LINE, INT), **LOOP)
def may_fit(nodes, asks, shape, pooled, scores, tree_of, log, changes):
    """Return False if the nodes certainly lack room for all instances of the shape."""
    wanted, row = asks[shape, ASK_INSTANCES], tree_of[shape, ROOM_ROW]
    # who draws lots draws them for gangs that do not fit as well
    if wanted <= 1 or tree_of[shape, TREE] == DRAW:
        return True
    if row == SCAN:
        found = 0
        for node in range(nodes.shape[0]):
            if found < wanted:
                found += most_on(nodes, node, asks, shape, pooled)
        return found >= wanted
    seen, found = tree_of[shape, ROOM_SEEN], tree_of[shape, ROOM]
    if seen < 0 or (changes - seen) * 4 > nodes.shape[0]:
        found = 0
        for node in range(nodes.shape[0]):
            here = most_on(nodes, node, asks, shape, pooled)
            scores[row, node] = here
            found += here
    else:
        for change in range(seen, changes):
            node = log[change & (log.size - 1)]
            here = most_on(nodes, node, asks, shape, pooled)
            found += here - int(scores[row, node])
            scores[row, node] = here
    tree_of[shape, ROOM_SEEN], tree_of[shape, ROOM] = changes, found
    return found >= wanted


#: columns of the placement matrix, one row per instance: its node and its GPUs as a bit set
ON_NODE, ON_GPUS = range(2)


@njit(INT(INT_GRID, INT_GRID, INT, INT_GRID, INT, INT, INT_LINE, INT), cache=True)
def free_rows(
    nodes: Ints,
    asks: Ints,
    shape: int,
    placed: Ints,
    first: int,
    rows: int,
    log: Ints,
    changes: int,
) -> int:
    """Give back what placed instances use; return the grown count of changes."""
    for row in range(first, first + rows):
        give_back(nodes, placed[row, ON_NODE], asks, shape, placed[row, ON_GPUS])
        log[changes % log.size] = placed[row, ON_NODE]
        changes += 1
    return changes


@njit(
    types.UniTuple(INT, 2)(
        SCORE_FUNCTION,
        CHOICE_FUNCTION,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT,
        FLAG,
        FLAG,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT,
        INT_GRID,
        INT,
    ),
    cache=True,
)
def place_gang(
    score,
    choose_gpu,
    facts,
    nodes,
    asks,
    shape,
    pooled,
    fill,
    scores,
    winners,
    shapes,
    log,
    changes,
    placed,
    first,
):
    """Place every instance of a shape, or none; return (1 or 0, the grown count of changes)."""
    if not may_fit(nodes, asks, shape, pooled, scores, winners, log, changes):
        return 0, changes
    wanted, done, node = asks[shape, ASK_INSTANCES], 0, -1
    while done < wanted:
        asks[shape, ASK_LEFT] = wanted - done
        if not (fill and node >= 0 and fits(nodes, node, asks, shape, pooled)):
            node = best_node(
                score, nodes, asks, shape, facts, pooled, scores, winners, shapes, log, changes
            )
        if node < 0:
            break
        placed[first + done, ON_NODE] = node
        placed[first + done, ON_GPUS] = take(choose_gpu, nodes, node, asks, shape, facts, pooled)
        log[changes % log.size] = node
        changes += 1
        done += 1
    if done == wanted:
        return 1, changes
    changes = free_rows(nodes, asks, shape, placed, first, done, log, changes)
    for row in range(first, first + done):
        placed[row, ON_NODE] = -1
    return 0, changes
