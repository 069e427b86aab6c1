"""Which running jobs make way for one that comes before them in the order."""

from __future__ import annotations

import math

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import JUMPS, RUNNING
from prophase.sim.kernels.dynamic.running_jobs import (
    close_running_gap,
    open_running_gap,
    work_left,
)
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE
from prophase.sim.kernels.node_resources import admits, give_back, occupy, room
from prophase.sim.kernels.queue_heaps import pop_end, push_end
from prophase.sim.kernels.queue_order import sort_queue
from prophase.sim.signatures import (
    ASK_GPUS,
    ASK_INSTANCES,
    ASK_MILLI,
    FREE_WHOLE,
    JOB_ATTAINED,
    JOB_JUMP,
    JOB_LOOKED,
    JOB_REMAINING,
    JOB_STARTED,
    LOOP,
)

#: nodes with GPUs enough that lacked something else, before jobs leave one by one; steps after
#: which a walk finds out again where it is; and places beside the last that joined
_MOST_TRIALS, _NEW_KEY, _BESIDE = 16, 32, 8


@njit(**LOOP)
def choose_victims(job, turn, jobs, owners, nodes, queue, running, rules, counts):
    """Fill ``victims`` with the jobs to stop, and return how many; 0 if none would help.

    Those last in the order go first, until there is room; then each that is not needed after
    all is spared, the first in the order first. Nodes are tried out in place, and are as they
    were afterwards.
    """
    victims, placed, matrix = queue.victims, running.placed, nodes.matrix
    shape = jobs.shape_of[job]
    wanted, free = jobs.asks[shape, ASK_INSTANCES], 1
    taken = -1
    if rules.alike:
        taken = _take_from_one_node(job, turn, jobs, owners, nodes, queue, running, rules)
    else:
        _order_running(queue.keys, running, counts)
    if taken < 0:
        taken, free = _take_one_by_one(job, turn, jobs, owners, nodes, queue, running, rules)
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
def _take_one_by_one(job, turn, jobs, owners, nodes, queue, running, rules):
    """Let jobs leave until there is room; return how many left, and for how many there is room."""
    asks, matrix, shape = jobs.asks, nodes.matrix, jobs.shape_of[job]
    wanted = asks[shape, ASK_INSTANCES]
    # a single instance has found no room anywhere
    free = taken = 0
    if wanted > 1:
        for node in range(matrix.shape[0]):
            free += room(matrix, node, asks, shape)
    _look_at_last(turn, jobs, owners, queue, running, rules)
    while free < wanted:
        group = _last_behind(queue.keys[job], running)
        if group < 0:
            break
        place = running.walk[group]
        _look_at(group, place - 1, turn, jobs, owners, queue, running, rules)
        other = running.jobs[place]
        if not _is_sure(other, turn, jobs, rules):
            queue.victims[taken] = other
            free += _leaves(matrix, jobs, shape, running.placed, other)
            taken += 1
    return taken, free


@njit(**LOOP)
def _take_from_one_node(job, turn, jobs, owners, nodes, queue, running, rules):
    """Let jobs of the node leave that is the first to have room for one instance on whole GPUs.

    Return how many left, 0 if no node gets room, and -1 if one has to go the long way: jobs on
    other nodes would all be spared, so GPUs are only counted until there are enough on one.
    """
    asks, held, freed, shape = jobs.asks, running.held, nodes.freed, jobs.shape_of[job]
    gpus, key, matrix = asks[shape, ASK_GPUS], queue.keys[job], nodes.matrix
    if gpus == 0 or asks[shape, ASK_MILLI] < 1000 or asks[shape, ASK_INSTANCES] > 1:
        return -1
    _look_at_last(turn, jobs, owners, queue, running, rules)
    groups, taken, steps, trials = running.walk.size, 0, 0, 0
    group = _last_behind(key, running)
    while group >= 0 and taken == 0:
        place = running.walk[group]
        if held[place] < 0 or trials > _MOST_TRIALS:
            # a gang is seldom: its GPUs are not counted
            taken = -1
            break
        if groups > 1 or steps % _NEW_KEY == 0:
            _look_at(group, place - 1, turn, jobs, owners, queue, running, rules)
        else:
            # with one group the last key seen is never too small
            running.walk[group] = place - 1
            if place == 0:
                running.walk_keys[group] = -math.inf
        other, node = running.jobs[place], held[place] >> 8
        if not _is_sure(other, turn, jobs, rules):
            queue.victims[steps] = place
            steps += 1
            freed[node] += held[place] & 255
            if matrix[node, FREE_WHOLE] + freed[node] >= gpus and admits(matrix, node, asks, shape):
                if not _key_now(other, turn, jobs, owners, queue, rules) > key:
                    break
                taken = _empty_node(node, shape, steps, jobs, nodes, queue.victims, running)
                trials += 1
        group = _last_behind(key, running)
    for group in range(groups):
        for place in range(running.walk[group] + 1, running.group_end[group]):
            freed[held[place] >> 8] = 0
    return taken


@njit(**LOOP)
def _empty_node(node, shape, steps, jobs, nodes, places, running):
    """Let the jobs on a node leave that stand at places; return how many, 0 if it has no room.

    Their numbers replace the places if it has.
    """
    asks, matrix, found = jobs.asks, nodes.matrix, 0
    for step in range(steps):
        if running.held[places[step]] >> 8 == node:
            other = running.jobs[places[step]]
            give_back(
                matrix, node, asks, jobs.shape_of[other],
                running.placed[jobs.row_of[other], ON_GPUS],
            )  # fmt: skip
    has_room = room(matrix, node, asks, shape) > 0
    for step in range(steps):
        if running.held[places[step]] >> 8 != node:
            continue
        other = running.jobs[places[step]]
        if has_room:
            places[found] = other
            found += 1
        else:
            bits = running.placed[jobs.row_of[other], ON_GPUS]
            occupy(matrix, node, asks, jobs.shape_of[other], bits)
    return found


@njit(**LOOP)
def _is_sure(job, turn, jobs, rules):
    """Tell whether a job has not yet run for the time it is sure of."""
    return rules.min_run_s > 0 and turn.now - jobs.table[job, JOB_STARTED] < rules.min_run_s


@njit(**LOOP)
def _look_at(group, place, turn, jobs, owners, queue, running, rules):
    """Point a walk from the last running job to the first at a place of a group, with its key."""
    first = running.group_end[group - 1] if group > 0 else 0
    running.walk[group], running.walk_keys[group] = place, -math.inf
    if place >= first:
        job = running.jobs[place]
        running.walk_keys[group] = _key_now(job, turn, jobs, owners, queue, rules)


@njit(**LOOP)
def _look_at_last(turn, jobs, owners, queue, running, rules):
    """Begin a walk at the last job of every group."""
    for group in range(running.walk.size):
        place = running.group_end[group] - 1
        _look_at(group, place, turn, jobs, owners, queue, running, rules)


@njit(**LOOP)
def _last_behind(key, running):
    """Return the group whose job comes last of those a walk points at, -1 if none is behind."""
    last, highest, walk, keys = -1, key, running.walk, running.walk_keys
    for group in range(walk.size):
        here = keys[group]
        equal = last >= 0 and here == highest
        if here > highest or (equal and running.jobs[walk[group]] > running.jobs[walk[last]]):
            last, highest = group, here
    return last


@njit(**LOOP)
def _key_now(job, turn, jobs, owners, queue, rules):
    """Return the key of a running job as it is now.

    Its progress is not written down: sums would differ with how often somebody looked.
    """
    if not (rules.keys_move and rules.alike):
        return queue.keys[job]
    table = jobs.table
    attained, remaining = table[job, JOB_ATTAINED], table[job, JOB_REMAINING]
    passed = turn.now - table[job, JOB_LOOKED]
    if passed > 0:
        table[job, JOB_ATTAINED] = attained + passed
        table[job, JOB_REMAINING] = work_left(table, job, passed)
    key = turn.order.key(table, job, owners.table, turn.now, turn.order.facts)
    table[job, JOB_ATTAINED], table[job, JOB_REMAINING] = attained, remaining
    return key


@njit(**LOOP)
def _place_among(job, turn, jobs, owners, queue, running, rules):
    """Return where a job belongs among the running jobs of its group, which are in order.

    Jobs start in the order of their keys, so it is looked for beside the one that joined last.
    """
    key = _key_now(job, turn, jobs, owners, queue, rules)
    group = running.group_of[job]
    low, high = running.group_end[group - 1] if group > 0 else 0, running.group_end[group]
    middle, probes = min(max(running.joined[group], low), high - 1), 0
    while low < high:
        other = running.jobs[middle]
        here = _key_now(other, turn, jobs, owners, queue, rules)
        before = here < key or (here == key and other < job)
        if before:
            low = middle + 1
        else:
            high = middle
        probes += 1
        middle = (low + high) // 2
        if probes == 1 and high - low > _BESIDE:
            middle = low + _BESIDE if before else high - _BESIDE
    running.joined[group] = low
    return low


@njit(**LOOP)
def join_running(job, turn, jobs, owners, queue, running, rules, counts):
    """Put the last of the running jobs, which has just begun, where it belongs among them."""
    _sort_in(job, counts[RUNNING] - 1, turn, jobs, owners, queue, running, rules)
    if running.jump_s.size > 0 and not running.jump_noted[job]:
        _note_jump(job, jobs, running, counts)


@njit(**LOOP)
def _sort_in(job, last, turn, jobs, owners, queue, running, rules):
    """Put a job among the running jobs before a place, which are in order within their groups."""
    to = _place_among(job, turn, jobs, owners, queue, running, rules)
    for group in range(running.group_of[job], running.group_end.size):
        running.group_end[group] += 1
    open_running_gap(running, to, last)
    asks, shape, row = jobs.asks, jobs.shape_of[job], jobs.row_of[job]
    running.jobs[to], running.held[to] = job, -1
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
        running.group_end[0] -= 1
        running.jobs[counts[RUNNING] - moved] = job
    for place in range(counts[RUNNING] - moved, counts[RUNNING]):
        _sort_in(running.jobs[place], place, turn, jobs, owners, queue, running, rules)


@njit(**LOOP)
def _order_running(keys, running, counts):
    """Keep the list of running jobs in the order of their keys: it is nearly so already."""
    count, sorted_to = counts[RUNNING], 1
    running.group_end[0] = count
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
