"""Which running jobs make way for one that comes before them in the order."""

from __future__ import annotations

import math

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import JUMPS, RUNNING
from prophase.sim.kernels.dynamic.running_jobs import close_running_gap, update_progress
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE
from prophase.sim.kernels.node_resources import give_back, occupy, room
from prophase.sim.kernels.queue_heaps import pop_end, push_end
from prophase.sim.kernels.queue_order import sort_queue
from prophase.sim.signatures import (
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MILLI,
    FREE_WHOLE,
    JOB_ATTAINED,
    JOB_DONE,
    JOB_JUMP,
    JOB_LOOKED,
    JOB_REMAINING,
    JOB_STARTED,
    LOOP,
)


@njit(**LOOP)
def choose_victims(job, turn, jobs, owners, nodes, queue, running, rules, counts):
    """Fill ``victims`` with the jobs to stop, and return how many; 0 if none would help.

    Those last in the order go first, until there is room; then each that is not needed after
    all is spared, the first in the order first. Nodes are tried out in place, and are as they
    were afterwards.
    """
    victims, asks, placed, matrix = queue.victims, jobs.asks, running.placed, nodes.matrix
    key, shape = queue.keys[job], jobs.shape_of[job]
    wanted, count = asks[shape, ASK_INSTANCES], counts[RUNNING]
    if not rules.alike:
        _order_running(queue.keys, running, counts)
    if count == 0:
        return 0
    worst = _key_now(running.jobs[count - 1], turn, jobs, owners, queue, rules)
    if not worst > key:
        return 0
    # before all jobs of the same key, which do not make way
    behind = _place_among(key, jobs.shape_of.size, count, turn, jobs, owners, queue, running, rules)
    if rules.alike and not _may_help(shape, behind, jobs, nodes, running, counts):
        return 0
    # a single instance has found no room anywhere
    free = 0
    if wanted > 1:
        for node in range(matrix.shape[0]):
            free += room(matrix, node, asks, shape)
    taken = 0
    for place in range(count - 1, behind - 1, -1):
        if free >= wanted:
            break
        other = running.jobs[place]
        sure = rules.min_run_s > 0 and turn.now - jobs.table[other, JOB_STARTED] < rules.min_run_s
        if not sure:
            victims[taken] = other
            free += _leaves(matrix, jobs, shape, placed, other)
            taken += 1
    enough, kept = free >= wanted, 0
    for place in range(taken - 1, -1, -1):
        other = victims[place]
        gone = _comes_back(matrix, jobs, shape, placed, other)
        if not enough or free - gone >= wanted:
            free -= gone
            victims[place] = -1
        else:
            _leaves(matrix, jobs, shape, placed, other)
    for place in range(taken):
        if victims[place] >= 0:
            victims[kept] = victims[place]
            kept += 1
    for place in range(kept):
        _comes_back(matrix, jobs, shape, placed, victims[place])
    return kept


@njit(**LOOP)
def _may_help(shape, behind, jobs, nodes, running, counts):
    """Return False if no node has GPUs enough for the shape, were all jobs behind a place gone."""
    asks, held, freed, count = jobs.asks, running.held, nodes.freed, counts[RUNNING]
    gpus, place, enough = asks[shape, ASK_GPUS], count, False
    if gpus == 0 or asks[shape, ASK_MILLI] < 1000 or asks[shape, ASK_INSTANCES] > 1:
        return True
    while place > behind and not enough:
        place -= 1
        # a gang is seldom: its GPUs are not added up
        enough = held[place] < 0
        if not enough:
            node = held[place] >> 8
            freed[node] += held[place] & 255
            enough = nodes.matrix[node, FREE_WHOLE] + freed[node] >= gpus
    for back in range(place, count):
        freed[held[back] >> 8] = 0
    return enough


@njit(**LOOP)
def _key_now(job, turn, jobs, owners, queue, rules):
    """Return the key of a running job as it is now.

    Its progress is not written down: sums would differ with how often somebody looked.
    """
    if not (rules.keys_move and rules.alike):
        return queue.keys[job]
    table = jobs.table
    looked, done = table[job, JOB_LOOKED], table[job, JOB_DONE]
    attained, remaining = table[job, JOB_ATTAINED], table[job, JOB_REMAINING]
    update_progress(table, job, turn.now)
    key = turn.order.key(table, job, owners.table, turn.now, turn.order.facts)
    table[job, JOB_LOOKED], table[job, JOB_DONE] = looked, done
    table[job, JOB_ATTAINED], table[job, JOB_REMAINING] = attained, remaining
    return key


@njit(**LOOP)
def _place_among(key, job, count, turn, jobs, owners, queue, running, rules):
    """Return where a job belongs among the first running jobs, which are in order."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        other = running.jobs[middle]
        here = _key_now(other, turn, jobs, owners, queue, rules)
        if here < key or (here == key and other < job):
            low = middle + 1
        else:
            high = middle
    return low


@njit(**LOOP)
def join_running(job, turn, jobs, owners, queue, running, rules, counts):
    """Put the last of the running jobs, which has just begun, where it belongs among them."""
    _sort_in(job, counts[RUNNING] - 1, turn, jobs, owners, queue, running, rules)
    if running.jump_s.size > 0 and not running.jump_noted[job]:
        _note_jump(job, jobs, running, counts)


@njit(**LOOP)
def _sort_in(job, last, turn, jobs, owners, queue, running, rules):
    """Put a job among the running jobs before a place, which are in order."""
    listed = running.jobs
    key = _key_now(job, turn, jobs, owners, queue, rules)
    to = _place_among(key, job, last, turn, jobs, owners, queue, running, rules)
    for place in range(last, to, -1):
        listed[place] = listed[place - 1]
    for place in range(last, to, -1):
        running.held[place] = running.held[place - 1]
    asks, shape, row = jobs.asks, jobs.shape_of[job], jobs.row_of[job]
    listed[to], running.held[to] = job, -1
    if asks[shape, ASK_INSTANCES] == 1:
        running.held[to] = running.placed[row, ON_NODE] << 8 | asks[shape, ASK_GPUS]


@njit(**LOOP)
def _note_jump(job, jobs, running, counts):
    """Write down when the key of a running job jumps, if it still will."""
    looked, attained = jobs.table[job, JOB_LOOKED], jobs.table[job, JOB_ATTAINED]
    jump = jobs.table[job, JOB_JUMP]
    if attained < jump < math.inf:
        time = looked + (jump - attained)
        while attained + (time - looked) < jump:
            time = np.nextafter(time, math.inf)
        counts[JUMPS] = push_end(running.jump_s, running.jump_jobs, counts[JUMPS], time, job)
        running.jump_noted[job] = 1


@njit(**LOOP)
def follow_jumps(turn, jobs, owners, queue, running, rules, counts):
    """Give running jobs whose keys have jumped their new places."""
    moved = 0
    while counts[JUMPS] > 0 and running.jump_s[0] <= turn.now:
        job, table = running.jump_jobs[0], jobs.table
        counts[JUMPS] = pop_end(running.jump_s, running.jump_jobs, counts[JUMPS])
        running.jump_noted[job] = 0
        if running.place_of[job] < 0:
            continue
        run_s = table[job, JOB_ATTAINED] + (turn.now - table[job, JOB_LOOKED])
        if run_s < table[job, JOB_JUMP]:
            # it was stopped for a while
            _note_jump(job, jobs, running, counts)
            continue
        place = 0
        while running.jobs[place] != job:
            place += 1
        close_running_gap(running, place, counts[RUNNING] - 1 - moved)
        # behind the others, until all that jumped are out of their order
        moved += 1
        running.jobs[counts[RUNNING] - moved] = job
    for place in range(counts[RUNNING] - moved, counts[RUNNING]):
        _sort_in(running.jobs[place], place, turn, jobs, owners, queue, running, rules)


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
def _leaves(nodes, jobs, wanted, placed, job):
    """Let a job leave; return how much room that makes for the wanted shape."""
    asks, shape, first, made = jobs.asks, jobs.shape_of[job], jobs.row_of[job], 0
    for row in range(first, first + asks[shape, ASK_INSTANCES]):
        node, bits = placed[row, ON_NODE], placed[row, ON_GPUS]
        give_back(nodes, node, asks, shape, bits)
        after = room(nodes, node, asks, wanted)
        if after > 0:
            occupy(nodes, node, asks, shape, bits)
            made += after - room(nodes, node, asks, wanted)
            give_back(nodes, node, asks, shape, bits)
    return made


@njit(**LOOP)
def _comes_back(nodes, jobs, wanted, placed, job):
    """Let a job come back; return how much room for the wanted shape that takes."""
    asks, shape, first, gone = jobs.asks, jobs.shape_of[job], jobs.row_of[job], 0
    for row in range(first, first + asks[shape, ASK_INSTANCES]):
        node, bits = placed[row, ON_NODE], placed[row, ON_GPUS]
        before = room(nodes, node, asks, wanted)
        occupy(nodes, node, asks, shape, bits)
        if before > 0:
            gone += before - room(nodes, node, asks, wanted)
    return gone
