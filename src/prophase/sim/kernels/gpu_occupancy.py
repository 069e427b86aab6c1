"""How a request would sit on a node: beside whom, and on which of its GPUs."""

from __future__ import annotations

from numba import types

from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    ASK_GPUS,
    ASK_HELD,
    ASK_MILLI,
    FREE_SHARE,
    GPUS,
    HELD,
    INT,
    INT_GRID,
    STEP,
    Ints,
)

#: who is on a node already: only other kinds of GPU jobs, nobody, one's own kind among others,
#: one's own kind alone
OTHERS, NOBODY, MIXED, ALIKE = range(4)


@njit(INT(INT_GRID, INT, INT_GRID, INT), **STEP)
def company(nodes: Ints, node: int, asks: Ints, shape: int) -> int:
    """Tell who is on a node, by kind of GPU job: a share, 1 GPU, 2 GPUs and so on."""
    held, kind = nodes[node, HELD], asks[shape, ASK_HELD]
    # the bits of this kind's count
    own = held & (kind * 65535 if kind == 1 else kind * 63)
    if held == 0:
        return NOBODY
    if own == held:
        return ALIKE
    return MIXED if own else OTHERS


@njit(types.UniTuple(INT, 2)(INT_GRID, INT, INT_GRID, INT), **STEP)
def gpus_touched(nodes: Ints, node: int, asks: Ints, shape: int) -> tuple[int, int]:
    """Fill fitting GPUs, tightest first; return how many were idle, and what all had free."""
    milli, bits, idle, free_milli = asks[shape, ASK_MILLI], 0, 0, 0
    for _ in range(asks[shape, ASK_GPUS]):
        chosen, least = -1, 1 << 30
        for gpu in range(nodes[node, GPUS]):
            free = nodes[node, FREE_SHARE + gpu]
            if milli <= free < least and not (bits >> gpu) & 1:
                chosen, least = gpu, free
        bits |= 1 << chosen
        idle += least == 1000
        free_milli += least
    return idle, free_milli
