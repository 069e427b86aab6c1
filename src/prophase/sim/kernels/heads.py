"""The first waiting job of every shape, and the first one that fits on a node.

A tree over shapes: each place holds the smallest rank and the smallest requests of the shapes
below it, so that a whole branch is passed over when its smallest request is too large, or its
first job comes later than one already found. Shapes are in order of their requests; with
thousands of them a search looks at a few dozen.
"""

from __future__ import annotations

from numba import njit, types

from prophase.sim.kernels.compiling import STEP
from prophase.sim.kernels.nodes import fits
from prophase.sim.kernels.rooms import may_fit
from prophase.sim.kernels.trees import BLOCKED_AT
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_MEMORY,
    ASK_MILLI,
    FLAG,
    FLOAT_GRID,
    FREE_CPU,
    FREE_GPU,
    FREE_MEMORY,
    INT,
    INT_GRID,
    INT_LINE,
    Ints,
)

#: columns: the smallest milli-GPUs, milli-cores and MiB asked for, the rank of the first
#: waiting job, and the same among shapes that nobody waited for before (their jobs may fit
#: anywhere; others only on a node that was just freed)
HEAD_GPU, HEAD_CPU, HEAD_MEMORY, HEAD_RANK, HEAD_NEW = range(5)
HEAD_COLUMNS = 5
NOBODY = 1 << 62


@njit(types.void(INT_GRID, INT_GRID, INT, INT, FLAG), **STEP)
def set_head(heads: Ints, asks: Ints, shape: int, rank: int, is_new: bool) -> None:
    """Say which job of a shape waits first, or NOBODY."""
    place = heads.shape[0] // 2 + shape
    waits = rank != NOBODY
    heads[place, HEAD_GPU] = asks[shape, ASK_GPUS] * asks[shape, ASK_MILLI] if waits else NOBODY
    heads[place, HEAD_CPU] = asks[shape, ASK_CPU] if waits else NOBODY
    heads[place, HEAD_MEMORY] = asks[shape, ASK_MEMORY] if waits else NOBODY
    heads[place, HEAD_RANK] = rank
    heads[place, HEAD_NEW] = rank if is_new else NOBODY
    changed = True
    while changed and place > 1:
        place >>= 1
        changed = False
        for column in range(HEAD_COLUMNS):
            least = min(heads[2 * place, column], heads[2 * place + 1, column])
            if least != heads[place, column]:
                heads[place, column] = least
                changed = True


@njit(INT(INT_GRID, INT), **STEP)
def first_head(heads: Ints, column: int) -> int:
    """Return the shape whose first job has the smallest rank in a column, or -1."""
    rank, place, width = heads[1, column], 1, heads.shape[0] // 2
    if rank == NOBODY:
        return -1
    while place < width:
        place *= 2
        if heads[place, column] != rank:
            place += 1
    return place - width


@njit(
    INT(
        INT_GRID,
        INT_GRID,
        INT,
        INT_GRID,
        FLAG,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT_LINE,
        INT,
        INT,
        INT_LINE,
    ),
    **STEP,
)
def first_that_fits(
    heads, nodes, node, asks, pooled, scores, tree_of, shapes, log, changes, passes, stack
):
    """Return the shape of the first waiting job that fits on a node and did not fail yet.

    Gangs that find no room for all of their instances are marked as failed on the way.
    """
    free_gpu, free_cpu = nodes[node, FREE_GPU], nodes[node, FREE_CPU]
    free_memory, width = nodes[node, FREE_MEMORY], heads.shape[0] // 2
    chosen, smallest = -1, NOBODY
    stack[0], size = 1, 1
    while size > 0:
        size -= 1
        place = stack[size]
        if (
            heads[place, HEAD_RANK] >= smallest
            or heads[place, HEAD_GPU] > free_gpu
            or heads[place, HEAD_CPU] > free_cpu
            or heads[place, HEAD_MEMORY] > free_memory
        ):
            continue
        if place < width:
            # the branch with the earlier job lies on top
            right = heads[2 * place, HEAD_RANK] > heads[2 * place + 1, HEAD_RANK]
            stack[size] = 2 * place + (not right)
            stack[size + 1] = 2 * place + right
            size += 2
            continue
        shape = place - width
        if shapes[shape, BLOCKED_AT] != passes and fits(nodes, node, asks, shape, pooled):
            if may_fit(nodes, asks, shape, pooled, scores, tree_of, log, changes):
                chosen, smallest = shape, heads[place, HEAD_RANK]
            else:
                shapes[shape, BLOCKED_AT] = passes
    return chosen
