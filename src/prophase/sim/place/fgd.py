"""Fragmentation gradient descent: the node whose idle GPUs stay most useful.

Source: Weng et al., "Beware of Fragmentation", USENIX ATC 2023. The fragmentation of a
node for a class of requests is the idle GPU that class cannot use; the node's is the mean
over the classes of the workload. A job goes where it adds the least.

``facts`` holds one row per class: cpu, milli, GPUs, allowed types as bits, share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_GPUS,
    ASK_MILLI,
    ASK_TYPES,
    CHOOSE_GPU,
    FREE_CPU,
    FREE_SHARE,
    GPU_TYPE,
    GPUS,
    SCORE,
    Floats,
    Ints,
)

#: classes are taken by falling count until they cover this share of the jobs
COVERED_PCT = 95
CLASS_CPU, CLASS_MILLI, CLASS_GPUS, CLASS_TYPES, CLASS_SHARE = range(5)


@njit("float64(int64[:, ::1], int64, float64[:, ::1], int64, int64, int64)", cache=True)
def fragmentation_after(
    nodes: Ints, node: int, classes: Floats, cpu: int, milli: int, bits: int
) -> float:
    """Return a node's fragmentation, in milli-GPUs, once ``milli`` of the GPUs in ``bits`` go.

    The published code sums by what a class lacks (CPU and GPU, GPU, CPU, nothing to begin
    with, no access) and then adds the sums; rounding makes the order matter.
    """
    lacks_both = lacks_gpu = lacks_cpu = no_gpu_low = no_gpu_high = no_access = 0.0
    free_cpu = nodes[node, FREE_CPU] - cpu
    idle = 0
    for gpu in range(nodes[node, GPUS]):
        idle += nodes[node, FREE_SHARE + gpu] - (milli if (bits >> gpu) & 1 else 0)
    for row in range(classes.shape[0]):
        share = classes[row, CLASS_SHARE]
        wanted, need = int(classes[row, CLASS_GPUS]), int(classes[row, CLASS_MILLI])
        enough_cpu = free_cpu >= classes[row, CLASS_CPU]
        if wanted == 0:
            if enough_cpu:
                no_gpu_low += share * idle
            else:
                no_gpu_high += share * idle
            continue
        kinds = int(classes[row, CLASS_TYPES])
        if kinds != 0 and (kinds >> nodes[node, GPU_TYPE]) & 1 == 0:
            no_access += share * idle
            continue
        able, useless = 0, 0
        for gpu in range(nodes[node, GPUS]):
            free = nodes[node, FREE_SHARE + gpu] - (milli if (bits >> gpu) & 1 else 0)
            if free >= need:
                able += 1
            else:
                useless += free
        if able >= wanted:
            if enough_cpu:
                lacks_gpu += share * useless
            else:
                lacks_cpu += share * idle
        elif enough_cpu:
            lacks_gpu += share * idle
        else:
            lacks_both += share * idle
    return lacks_both + lacks_gpu + lacks_cpu + no_gpu_low + no_gpu_high + no_access


@njit("int64(int64[:, ::1], int64, float64[:, ::1], float64, int64, int64, int64)", cache=True)
def _gain(
    nodes: Ints, node: int, classes: Floats, before: float, cpu: int, milli: int, bits: int
) -> int:
    """Return the published score, 0..100: 50 means that fragmentation stays as it is."""
    after = fragmentation_after(nodes, node, classes, cpu, milli, bits)
    return int(1.0 / (1.0 + math.exp(-(before - after) / 1000.0)) * 100.0)


@njit("int64(int64[:, ::1], int64, int64, int64)", cache=True)
def _lowest_free(nodes: Ints, node: int, gpus: int, milli: int) -> int:
    """Return the first GPUs that have ``milli`` free, as a bit set."""
    bits = 0
    for gpu in range(nodes[node, GPUS]):
        if gpus > 0 and nodes[node, FREE_SHARE + gpu] >= milli:
            bits |= 1 << gpu
            gpus -= 1
    return bits


@njit(CHOOSE_GPU, cache=True)
def choose_gpu(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> int:
    """Return the GPU on which a share adds the least fragmentation."""
    before = fragmentation_after(nodes, node, facts, 0, 0, 0)
    cpu, milli = asks[shape, ASK_CPU], asks[shape, ASK_MILLI]
    chosen, highest = -1, -1
    for gpu in range(nodes[node, GPUS]):
        if nodes[node, FREE_SHARE + gpu] >= milli:
            gain = _gain(nodes, node, facts, before, cpu, milli, 1 << gpu)
            if gain > highest:
                chosen, highest = gpu, gain
    return chosen


@njit(SCORE, cache=True)
def fgd(nodes: Ints, node: int, asks: Ints, shape: int, facts: Floats) -> float:
    """Rate a node the higher, the less fragmentation the job adds to it."""
    before = fragmentation_after(nodes, node, facts, 0, 0, 0)
    cpu, milli = asks[shape, ASK_CPU], asks[shape, ASK_MILLI]
    gpus = asks[shape, ASK_GPUS]
    if gpus != 1 or milli == 1000:
        return float(
            _gain(nodes, node, facts, before, cpu, milli, _lowest_free(nodes, node, gpus, milli))
        )
    highest = -1
    for gpu in range(nodes[node, GPUS]):
        if nodes[node, FREE_SHARE + gpu] >= milli:
            highest = max(highest, _gain(nodes, node, facts, before, cpu, milli, 1 << gpu))
    return float(highest)


def prepare(asks: Ints, cluster: Cluster, seed: int) -> Floats:
    """Return the commonest requests of the workload itself."""
    return typical_classes(asks, asks[:, ASK_TYPES])


def typical_classes(asks: Ints, labels: NDArray[Any]) -> Floats:
    """Return the commonest requests: cpu, milli, GPUs, types as bits, share.

    They are taken by falling count (among equals: larger cpu, then milli, GPUs and label
    first) until they cover 95 % of the jobs; ``labels`` tell apart classes that are else alike.
    """
    codes, _ = pd.factorize(np.asarray(labels), sort=True)
    columns = [asks[:, ASK_CPU], asks[:, ASK_MILLI], asks[:, ASK_GPUS], codes]
    kind = np.zeros(len(asks), np.int64)
    for column in columns:
        numbers, values = pd.factorize(column)
        kind = pd.factorize(kind * max(len(values), 1) + numbers)[0]
    _, first, count = np.unique(kind, return_index=True, return_counts=True)
    falling = np.lexsort([*(column[first] for column in reversed(columns)), count])[::-1]
    first, count = first[falling], count[falling]
    kept = np.cumsum(count) - count < COVERED_PCT * len(asks) / 100.0
    # in this order: a share that is one rounding off makes a score of 49 out of 50
    share = count[kept] / len(asks)
    if not kept.all():
        share /= count[kept].sum() / len(asks)
    common = asks[first[kept]][:, [ASK_CPU, ASK_MILLI, ASK_GPUS, ASK_TYPES]]
    return np.ascontiguousarray(np.column_stack([common, share]), np.float64)
