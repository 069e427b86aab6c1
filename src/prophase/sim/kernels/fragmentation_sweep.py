"""Walk through all starts and ends, and keep account of the idle GPUs that nobody can use."""

from __future__ import annotations

import numpy as np
from numba import types

from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    FLOAT_GRID,
    FLOAT_LINE,
    FREE_CPU,
    FREE_SHARE,
    GPU_TYPE,
    GPUS,
    INT,
    INT_GRID,
    INT_LINE,
    Floats,
    Ints,
)

#: columns of the matrix of classes; CLASS_LEVEL is the place of its milli among all milli values
CLASS_CPU, CLASS_GPUS, CLASS_TYPES, CLASS_LEVEL = range(4)


@njit(types.float64(INT_GRID, INT, INT_GRID, FLOAT_LINE, INT_LINE, INT_LINE, INT_LINE), cache=True)
def node_fragmentation(
    nodes: Ints, node: int, classes: Ints, share: Floats, levels: Ints, able: Ints, useless: Ints
) -> float:
    """Return the idle milli-GPUs of a node that the classes cannot use, weighted by share.

    ``levels`` are the different milli values; how many GPUs have that much free is counted
    once for all classes that ask for it. ``able`` and ``useless`` are room to work in.
    """
    idle = 0
    for gpu in range(nodes[node, GPUS]):
        idle += max(0, nodes[node, FREE_SHARE + gpu])
    if idle == 0:
        return 0.0
    for level in range(levels.size):
        able[level] = useless[level] = 0
        for gpu in range(nodes[node, GPUS]):
            free = nodes[node, FREE_SHARE + gpu]
            if free >= levels[level]:
                able[level] += 1
            else:
                useless[level] += max(0, free)
    total = 0.0
    for row in range(classes.shape[0]):
        wanted, kinds = classes[row, CLASS_GPUS], classes[row, CLASS_TYPES]
        level = classes[row, CLASS_LEVEL]
        barred = kinds != 0 and (kinds >> nodes[node, GPU_TYPE]) & 1 == 0
        short_of_cpu = nodes[node, FREE_CPU] < classes[row, CLASS_CPU]
        if wanted == 0 or barred or short_of_cpu or able[level] < wanted:
            total += share[row] * idle
        else:
            total += share[row] * useless[level]
    return total


@njit(types.void(FLOAT_GRID, INT, types.float64, types.float64, types.float64), cache=True)
def _add(bins: Floats, row: int, level: float, begin: float, end: float) -> None:
    """Add a level that held from begin to end, both in bins, to the bins it spans."""
    first, last = int(begin), min(int(end), bins.shape[1] - 1)
    if first >= last:
        bins[row, last] += level * (end - begin)
        return
    bins[row, first] += level * (first + 1 - begin)
    for place in range(first + 1, last):
        bins[row, place] += level
    bins[row, last] += level * (end - last)


@njit(
    types.void(
        INT_GRID,
        INT_LINE,
        FLOAT_LINE,
        INT_LINE,
        INT_LINE,
        INT_LINE,
        INT_LINE,
        INT_GRID,
        FLOAT_LINE,
        INT_LINE,
        FLOAT_GRID,
    ),
    cache=True,
)
def sweep_states(nodes, order, when, on_node, on_gpus, cpu, milli, classes, share, levels, bins):
    """Fill ``bins`` (GPU types x bins) with the fragmented milli-GPUs, averaged over each bin.

    ``when`` holds the starts of all instances, then their ends, counted in bins; ``order``
    sorts it. A node is rated just before it changes, so what happens at one instant is rated
    once, in whatever order it is listed. ``nodes`` are empty at first and are changed.
    """
    instances = on_node.size
    since = np.zeros(nodes.shape[0], np.float64)
    able, useless = np.zeros(levels.size, np.int64), np.zeros(levels.size, np.int64)
    for event in order:
        time = when[event]
        row = event if event < instances else event - instances
        node = on_node[row]
        if time > since[node]:
            level = node_fragmentation(nodes, node, classes, share, levels, able, useless)
            if level > 0.0:
                _add(bins, nodes[node, GPU_TYPE], level, since[node], time)
            since[node] = time
        sign = -1 if event < instances else 1
        nodes[node, FREE_CPU] += sign * cpu[row]
        bits = on_gpus[row]
        for gpu in range(nodes[node, GPUS]):
            if (bits >> gpu) & 1:
                nodes[node, FREE_SHARE + gpu] += sign * milli[row]
    end = float(bins.shape[1])
    for node in range(nodes.shape[0]):
        if since[node] < end:
            level = node_fragmentation(nodes, node, classes, share, levels, able, useless)
            _add(bins, nodes[node, GPU_TYPE], level, since[node], end)
