"""What fits on a node, and taking and giving back what a job uses."""

from __future__ import annotations

from numba import types

from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_FEATURES,
    ASK_GPUS,
    ASK_HELD,
    ASK_INSTANCES,
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
    HELD,
    INT,
    INT_GRID,
    PART,
    STEP,
    Ints,
)


@njit(FLAG(INT_GRID, INT, INT_GRID, INT), **STEP)
def admits(nodes: Ints, node: int, asks: Ints, shape: int) -> bool:
    """Tell whether the node has the features and the GPU type that the shape asks for."""
    if asks[shape, ASK_FEATURES] & ~nodes[node, FEATURES]:
        return False
    types_asked = asks[shape, ASK_TYPES]
    return types_asked == 0 or (types_asked >> nodes[node, GPU_TYPE]) & 1 == 1


@njit(FLAG(INT_GRID, INT, INT_GRID, INT, FLAG), cache=True)
def fits(nodes: Ints, node: int, asks: Ints, shape: int, pooled: bool) -> bool:
    """Tell whether one instance of the shape can start on the node now."""
    if (
        nodes[node, FREE_CPU] < asks[shape, ASK_CPU]
        or nodes[node, FREE_MEMORY] < asks[shape, ASK_MEMORY]
    ):
        return False
    if not admits(nodes, node, asks, shape):
        return False
    gpus, milli = asks[shape, ASK_GPUS], asks[shape, ASK_MILLI]
    if gpus == 0:
        return True
    if nodes[node, FREE_GPU] < gpus * milli:
        return False
    if pooled:
        return True
    if nodes[node, FREE_WHOLE] >= gpus:
        return True
    if milli == 1000:
        return False
    enough = 0
    for gpu in range(nodes[node, GPUS]):
        if nodes[node, FREE_SHARE + gpu] >= milli:
            enough += 1
    return enough >= gpus


@njit(INT(INT_GRID, INT, INT, INT), cache=True)
def tightest(nodes: Ints, node: int, gpus: int, milli: int) -> int:
    """Return the GPUs with the least free share that is enough, lowest index first."""
    bits = 0
    if milli == 1000:
        gpu = 0
        while gpus > 0:
            if nodes[node, FREE_SHARE + gpu] == 1000:
                bits |= 1 << gpu
                gpus -= 1
            gpu += 1
        return bits
    for _ in range(gpus):
        chosen, least = -1, 1 << 30
        for gpu in range(nodes[node, GPUS]):
            free = nodes[node, FREE_SHARE + gpu]
            if free >= milli and free < least and not (bits >> gpu) & 1:
                chosen, least = gpu, free
        bits |= 1 << chosen
    return bits


@njit(types.void(INT_GRID, INT, INT_GRID, INT, INT), cache=True)
def occupy(nodes: Ints, node: int, asks: Ints, shape: int, bits: int) -> None:
    """Take one instance's resources away, its shares from the GPUs in ``bits``."""
    milli = asks[shape, ASK_MILLI]
    nodes[node, FREE_CPU] -= asks[shape, ASK_CPU]
    nodes[node, FREE_MEMORY] -= asks[shape, ASK_MEMORY]
    nodes[node, FREE_GPU] -= asks[shape, ASK_GPUS] * milli
    nodes[node, HELD] += asks[shape, ASK_HELD]
    gpu = 0
    while bits:
        if bits & 1:
            if nodes[node, FREE_SHARE + gpu] == 1000:
                nodes[node, FREE_WHOLE] -= 1
            nodes[node, FREE_SHARE + gpu] -= milli
        bits >>= 1
        gpu += 1


@njit(INT(CHOICE_FUNCTION, INT_GRID, INT, INT_GRID, INT, FLOAT_GRID, FLAG), cache=True)
def take(choose_gpu, nodes, node, asks, shape, facts, pooled):
    """Occupy one instance's resources; return the GPUs chosen as a bit set.

    A share of one GPU goes where the policy says, shares of several to the tightest GPUs,
    whole GPUs to those of lowest index.
    """
    gpus, milli = asks[shape, ASK_GPUS], asks[shape, ASK_MILLI]
    bits = 0
    if not pooled and gpus > 0:
        if milli < 1000 and gpus == 1:
            bits = 1 << choose_gpu(nodes, node, asks, shape, facts)
        else:
            bits = tightest(nodes, node, gpus, milli)
    occupy(nodes, node, asks, shape, bits)
    return bits


@njit(types.void(INT_GRID, INT, INT_GRID, INT, INT), cache=True)
def give_back(nodes: Ints, node: int, asks: Ints, shape: int, bits: int) -> None:
    """Free what ``occupy`` took."""
    nodes[node, FREE_CPU] += asks[shape, ASK_CPU]
    nodes[node, FREE_MEMORY] += asks[shape, ASK_MEMORY]
    milli = asks[shape, ASK_MILLI]
    nodes[node, FREE_GPU] += asks[shape, ASK_GPUS] * milli
    nodes[node, HELD] -= asks[shape, ASK_HELD]
    gpu = 0
    while bits:
        if bits & 1:
            nodes[node, FREE_SHARE + gpu] += milli
            if nodes[node, FREE_SHARE + gpu] == 1000:
                nodes[node, FREE_WHOLE] += 1
        bits >>= 1
        gpu += 1


@njit(**PART)
def _room_beside_gpus(nodes: Ints, node: int, asks: Ints, shape: int) -> int:
    """Return how many instances of the shape the node's CPU and memory could take."""
    if not admits(nodes, node, asks, shape):
        return 0
    most = asks[shape, ASK_INSTANCES]
    if asks[shape, ASK_CPU] > 0:
        most = min(most, nodes[node, FREE_CPU] // asks[shape, ASK_CPU])
    if asks[shape, ASK_MEMORY] > 0:
        most = min(most, nodes[node, FREE_MEMORY] // asks[shape, ASK_MEMORY])
    return max(most, 0)


@njit(INT(INT_GRID, INT, INT_GRID, INT), cache=True)
def room(nodes: Ints, node: int, asks: Ints, shape: int) -> int:
    """Return how many instances of the shape could start on the node now.

    Instances that share several GPUs count with GPUs of their own, so there may be room for more.
    """
    gpus, milli = asks[shape, ASK_GPUS], asks[shape, ASK_MILLI]
    if nodes[node, FREE_MEMORY] < 0 or (milli == 1000 and nodes[node, FREE_WHOLE] < gpus):
        return 0
    most = _room_beside_gpus(nodes, node, asks, shape)
    if gpus == 0 or most == 0:
        return most
    if milli == 1000:
        return min(most, nodes[node, FREE_WHOLE] // gpus)
    slots = 0
    for gpu in range(nodes[node, GPUS]):
        if gpus == 1:
            # a plan may have promised more than there is
            slots += max(0, nodes[node, FREE_SHARE + gpu]) // milli
        elif nodes[node, FREE_SHARE + gpu] >= milli:
            slots += 1
    return min(most, slots // gpus)


@njit(**PART)
def most_on(nodes: Ints, node: int, asks: Ints, shape: int, pooled: bool) -> int:
    """Return how many instances of the shape the node could hold now, never too few."""
    most = _room_beside_gpus(nodes, node, asks, shape)
    gpus, milli = asks[shape, ASK_GPUS], asks[shape, ASK_MILLI]
    if most == 0 or gpus * milli <= 0:
        return most
    if pooled:
        return min(most, nodes[node, FREE_GPU] // (gpus * milli))
    if milli == 1000:
        return min(most, nodes[node, FREE_WHOLE] // gpus)
    shares = 0
    for gpu in range(nodes[node, GPUS]):
        shares += max(0, nodes[node, FREE_SHARE + gpu]) // milli
    return min(most, shares // gpus)


@njit(**PART)
def copy_nodes(nodes: Ints, copy: Ints) -> None:
    """Copy the node matrix, without memory of its own for overlaps as slices would have."""
    for node in range(nodes.shape[0]):
        for column in range(nodes.shape[1]):
            copy[node, column] = nodes[node, column]
