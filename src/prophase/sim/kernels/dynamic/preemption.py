"""Which running jobs make way for one that comes before them in the order."""

from __future__ import annotations

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import RUNNING
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE
from prophase.sim.kernels.node_resources import give_back, occupy, room
from prophase.sim.kernels.queue_order import sort_queue
from prophase.sim.signatures import ASK_INSTANCES, JOB_STARTED, LOOP


@njit(**LOOP)
def choose_victims(key, shape, now, jobs, nodes, queue, running, rules, counts):
    """Fill ``victims`` with the jobs to stop, and return how many; 0 if none would help.

    Those last in the order go first, until there is room; then each that is not needed after
    all is spared, the first in the order first. Nodes are tried out in place, and are as they
    were afterwards.
    """
    victims, asks, placed, matrix = queue.victims, jobs.asks, running.placed, nodes.matrix
    wanted = asks[shape, ASK_INSTANCES]
    place = counts[RUNNING] - 1
    _order_running(queue.keys, running, counts)
    if place < 0 or not queue.keys[running.jobs[place]] > key:
        return 0
    # a single instance has found no room anywhere
    free = 0
    if wanted > 1:
        for node in range(matrix.shape[0]):
            free += room(matrix, node, asks, shape)
    taken = 0
    while place >= 0 and free < wanted:
        job = running.jobs[place]
        if not queue.keys[job] > key:
            break
        if now - jobs.table[job, JOB_STARTED] >= rules.min_run_s:
            victims[taken] = job
            free += _moved(matrix, jobs, shape, placed, job, True)
            taken += 1
        place -= 1
    enough, kept = free >= wanted, 0
    for turn in range(taken - 1, -1, -1):
        job = victims[turn]
        free += _moved(matrix, jobs, shape, placed, job, False)
        if not enough or free >= wanted:
            victims[turn] = -1
        else:
            free += _moved(matrix, jobs, shape, placed, job, True)
    for turn in range(taken):
        if victims[turn] >= 0:
            victims[kept] = victims[turn]
            kept += 1
    for turn in range(kept):
        _moved(matrix, jobs, shape, placed, victims[turn], False)
    return kept


@njit(**LOOP)
def _order_running(keys, running, counts):
    """Keep the list of running jobs in the order of their keys: it is nearly so already."""
    count, sorted_to = counts[RUNNING], 1
    while sorted_to < count:
        job, before = running.jobs[sorted_to], running.jobs[sorted_to - 1]
        if keys[before] > keys[job] or (keys[before] == keys[job] and before > job):
            break
        sorted_to += 1
    if sorted_to >= count:
        return
    sort_queue(running.jobs, keys, count)
    for place in range(count):
        running.place_of[running.jobs[place]] = place


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
