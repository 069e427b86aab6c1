"""Start a job with all its instances or not at all, and free what it used."""

from __future__ import annotations

from numba import njit, types

from prophase.sim.kernels.nodes import fits, give_back, take
from prophase.sim.kernels.rooms import may_fit
from prophase.sim.kernels.trees import best_node
from prophase.sim.signatures import (
    ASK_INSTANCES,
    ASK_LEFT,
    CHOICE_FUNCTION,
    FLAG,
    FLOAT_GRID,
    INT,
    INT_GRID,
    INT_LINE,
    SCORE_FUNCTION,
    Ints,
)

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
