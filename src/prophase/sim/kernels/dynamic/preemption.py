"""Which running jobs make way for one that comes before them in the order."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import RUNNING
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE
from prophase.sim.kernels.node_resources import copy_nodes, give_back, occupy, room
from prophase.sim.kernels.queue_order import sort_queue
from prophase.sim.signatures import ASK_INSTANCES, JOB_STARTED, LOOP


@njit(**LOOP)
def choose_victims(key, shape, now, jobs, nodes, queue, running, future, rules, counts):
    """Fill ``victims`` with the jobs to stop, and return how many; 0 if none would help.

    Those last in the order go first, until there is room; then each that is not needed after
    all is spared, the first in the order first.
    """
    victims, asks, found = queue.victims, jobs.asks, 0
    for place in range(counts[RUNNING]):
        job = running.jobs[place]
        if queue.keys[job] > key and now - jobs.table[job, JOB_STARTED] >= rules.min_run_s:
            victims[found] = job
            found += 1
    if found == 0:
        return 0
    sort_queue(victims, queue.keys, found)
    for place in range(found // 2):
        back = found - 1 - place
        victims[place], victims[back] = victims[back], victims[place]
    wanted = asks[shape, ASK_INSTANCES]
    copy_nodes(nodes.matrix, future)
    free = 0
    for node in range(future.shape[0]):
        free += room(future, node, asks, shape)
    taken = 0
    while taken < found and free < wanted:
        free += _moved(future, jobs, shape, running.placed, victims[taken], True)
        taken += 1
    if free < wanted:
        return 0
    for place in range(taken - 1, -1, -1):
        job = victims[place]
        free += _moved(future, jobs, shape, running.placed, job, False)
        if free >= wanted:
            victims[place] = -1
        else:
            free += _moved(future, jobs, shape, running.placed, job, True)
    kept = 0
    for place in range(taken):
        if victims[place] >= 0:
            victims[kept] = victims[place]
            kept += 1
    return kept


@njit(**LOOP)
def _moved(nodes, jobs, wanted, placed, job, leaves):
    """Let a job leave or come back; return by how much the room for the wanted shape changed."""
    asks, shape, first, change = jobs.asks, jobs.shape_of[job], jobs.row_of[job], 0
    for row in range(first, first + asks[shape, ASK_INSTANCES]):
        node, bits = placed[row, ON_NODE], placed[row, ON_GPUS]
        change -= room(nodes, node, asks, wanted)
        if leaves:
            give_back(nodes, node, asks, shape, bits)
        else:
            occupy(nodes, node, asks, shape, bits)
        change += room(nodes, node, asks, wanted)
    return change
