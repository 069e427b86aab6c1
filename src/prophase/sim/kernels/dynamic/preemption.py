"""Which running jobs make way for one that comes before them in the order."""

from __future__ import annotations

import numpy as np
from numba import njit

from prophase.sim.kernels.dynamic.array_layout import RULE_MIN_RUN, RUNNING
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE
from prophase.sim.kernels.node_resources import give_back, occupy, room
from prophase.sim.signatures import ASK_INSTANCES, JOB_STARTED


@njit(cache=True)
def choose_victims(
    key, now, keys, jobs, runners, counts, rules, nodes, scratch, asks, shape, shape_of, row_of,
    placed, victims,
):  # fmt: skip
    """Fill ``victims`` with the jobs to stop, and return how many; 0 if none would help.

    Those last in the order go first, until there is room; then each that is not needed after
    all is spared, the first in the order first.
    """
    found = 0
    for place in range(counts[RUNNING]):
        job = runners[place]
        if keys[job] > key and now - jobs[job, JOB_STARTED] >= rules[RULE_MIN_RUN]:
            victims[found] = job
            found += 1
    if found == 0:
        return 0
    worst = np.empty(found, np.float64)
    # among equal keys the one submitted last goes first
    victims[:found] = np.sort(victims[:found])[::-1]
    for place in range(found):
        worst[place] = -keys[victims[place]]
    victims[:found] = victims[:found][np.argsort(worst, kind="mergesort")]
    wanted = asks[shape, ASK_INSTANCES]
    scratch[:, :] = nodes
    free = 0
    for node in range(nodes.shape[0]):
        free += room(scratch, node, asks, shape)
    taken = 0
    while taken < found and free < wanted:
        free += _moved(scratch, asks, shape, shape_of, row_of, placed, victims[taken], True)
        taken += 1
    if free < wanted:
        return 0
    kept = 0
    needed = np.ones(taken, np.bool_)
    for place in range(taken - 1, -1, -1):
        job = victims[place]
        free += _moved(scratch, asks, shape, shape_of, row_of, placed, job, False)
        if free >= wanted:
            needed[place] = False
        else:
            free += _moved(scratch, asks, shape, shape_of, row_of, placed, job, True)
    for place in range(taken):
        if needed[place]:
            victims[kept] = victims[place]
            kept += 1
    return kept


@njit(cache=True)
def _moved(nodes, asks, wanted, shape_of, row_of, placed, job, leaves):
    """Let a job leave or come back; return by how much the room for the wanted shape changed."""
    shape = shape_of[job]
    change = 0
    for row in range(row_of[job], row_of[job] + asks[shape, ASK_INSTANCES]):
        node, bits = placed[row, ON_NODE], placed[row, ON_GPUS]
        change -= room(nodes, node, asks, wanted)
        if leaves:
            give_back(nodes, node, asks, shape, bits)
        else:
            occupy(nodes, node, asks, shape, bits)
        change += room(nodes, node, asks, wanted)
    return change
