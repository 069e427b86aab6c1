"""One pass over the queue: which waiting jobs start now?"""

from __future__ import annotations

import numpy as np

from prophase.sim.attempts import PREEMPTED
from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import (
    CONSERVATIVE,
    EASY,
    EVICTED,
    FAILED_KINDS,
    FRUITLESS,
    HEAD,
    KINDS,
    PASSES,
    PLAN_READY,
    PLAN_SIZE,
    RESERVED,
    ROWS,
    SORTED,
    STRICT,
    TO_RESERVE,
    WAITING,
)
from prophase.sim.kernels.dynamic.preemption import choose_victims, follow_jumps, join_running
from prophase.sim.kernels.dynamic.reservations import (
    believed_length,
    earliest,
    enter,
    enter_reservation,
    plan_believed_ends,
    reserve,
    total_room,
)
from prophase.sim.kernels.dynamic.running_jobs import begin_attempt, stop_attempt
from prophase.sim.kernels.dynamic.usage_and_quotas import within_quota
from prophase.sim.kernels.dynamic.waiting_queue import (
    find_keys,
    join_queue,
    leave_queue,
)
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE, free_rows, place_gang
from prophase.sim.kernels.node_resources import give_back, occupy
from prophase.sim.kernels.queue_order import sort_in, sort_queue
from prophase.sim.kernels.score_trees import note_change
from prophase.sim.signatures import (
    ASK_INSTANCES,
    JOB_BELIEVED,
    JOB_LEFT,
    JOB_REMAINING,
    JOB_USER,
    LOOP,
    PART,
)


@njit(**PART)
def _is_considered(job, turn, jobs, owners, queue, rules, counts):
    """Tell whether a job may start at this hour, is within its quotas, and is looked at at all."""
    if believed_length(jobs.table, job) > turn.longest_s:
        return False
    if not within_quota(owners, job, jobs.asks, jobs.shape_of[job]):
        return False
    if rules.per_user > 0 and turn.queue >= EASY and counts[HEAD] >= 0:
        user = int(jobs.table[job, JOB_USER])
        queue.per_user[user] += 1
        return queue.per_user[user] <= rules.per_user
    return True


@njit(**LOOP)
def _preempt(job, turn, jobs, owners, nodes, queue, running, trees, rules, counts):
    """Stop jobs that come after this one, if that makes room for it; tell whether it did."""
    shape, victims, now = jobs.shape_of[job], queue.victims, turn.now
    count = choose_victims(job, turn, jobs, owners, nodes, queue, running, rules, counts)
    if count == 0:
        queue.unmoved_at[shape] = counts[PASSES]
        return False
    for place in range(count):
        victim = victims[place]
        stop_attempt(victim, now, PREEMPTED, jobs, owners, nodes, running, trees, rules, counts)
        saved = jobs.table[victim, JOB_REMAINING] < jobs.table[victim, JOB_LEFT]
        counts[FRUITLESS] = 0 if saved else counts[FRUITLESS] + 1
        victims[victims.size - 1 - counts[EVICTED]] = victim
        counts[EVICTED] += 1
    # what they leave over may do for shapes that did not fit before
    counts[PASSES] += 1
    counts[FAILED_KINDS] = 0
    return True


@njit(**LOOP)
def _leaves_room_for_head(job, now, policy, jobs, nodes, running, plan, trees, counts):
    """EASY: tell whether a job that was just placed does not delay the first one that waits.

    If it does, it is taken away again.
    """
    asks, placed, future = jobs.asks, running.placed, plan.future
    shape, first, head = jobs.shape_of[job], counts[ROWS], counts[HEAD]
    instances = asks[shape, ASK_INSTANCES]
    if not counts[PLAN_READY]:
        # nobody has started since the head was found: its reservation is still due
        free_rows(nodes.matrix, asks, shape, placed, first, instances, trees)
        plan.reserved_s[0] = reserve(head, now, jobs, nodes, running, plan, counts)
        counts[PLAN_READY] = 1
        place_gang(policy, nodes.matrix, asks, shape, trees, placed, first)
    for row in range(first, first + instances):
        occupy(future, placed[row, ON_NODE], asks, shape, placed[row, ON_GPUS])
    stays = now + believed_length(jobs.table, job) > plan.reserved_s[0]
    delays = stays and total_room(future, asks, head) < asks[head, ASK_INSTANCES]
    if delays:
        free_rows(nodes.matrix, asks, shape, placed, first, instances, trees)
    if delays or not stays:
        for row in range(first, first + instances):
            give_back(future, placed[row, ON_NODE], asks, shape, placed[row, ON_GPUS])
    return not delays


@njit(**LOOP)
def _fits_the_plan(job, now, policy, jobs, nodes, running, plan, trees, rules, counts):
    """Conservative backfilling: tell whether a job that was just placed delays no reservation.

    First the jobs before it get the reservations they still need. It moves to where the plan has
    room for it, or is taken away and gets a reservation itself.
    """
    asks, placed, planned = jobs.asks, running.placed, plan.planned
    shape, first = jobs.shape_of[job], counts[ROWS]
    instances = asks[shape, ASK_INSTANCES]
    free_rows(nodes.matrix, asks, shape, placed, first, instances, trees)
    if not counts[PLAN_READY]:
        plan_believed_ends(now, jobs, running, plan, counts)
        counts[PLAN_READY] = 1
    plan.reserving[counts[TO_RESERVE]] = job
    at_once = False
    for turn in range(counts[TO_RESERVE] + 1):
        other = plan.reserving[turn]
        instant, at_once = earliest(other, now, policy, jobs, nodes, plan, rules, counts)
        if other == job and at_once:
            break
        at_once = False
        if counts[RESERVED] >= rules.depth:
            continue
        counts[RESERVED] += 1
        if instant < np.inf:
            kind, end = jobs.shape_of[other], instant + believed_length(jobs.table, other)
            enter_reservation(
                plan, counts, now, instant, end, kind, asks[kind, ASK_INSTANCES], rules
            )
    counts[TO_RESERVE] = 0
    if not at_once:
        return False
    for row in range(instances):
        node, bits = planned[row, ON_NODE], planned[row, ON_GPUS]
        occupy(nodes.matrix, node, asks, shape, bits)
        placed[first + row, ON_NODE], placed[first + row, ON_GPUS] = node, bits
        note_change(trees, node)
    return True


@njit(**PART)
def _place(job, turn, policy, rules, jobs, owners, nodes, queue, running, plan, trees, counts):
    """Give a job nodes if it may start now; tell whether it may."""
    shape, first, passed = jobs.shape_of[job], counts[ROWS], counts[PASSES]
    fits_now = False
    if queue.failed_at[shape] != passed:
        fits_now = place_gang(policy, nodes.matrix, jobs.asks, shape, trees, running.placed, first)
        if not fits_now:
            queue.failed_at[shape] = passed
            counts[FAILED_KINDS] += 1
    if (
        not fits_now
        and turn.preempts
        and queue.unmoved_at[shape] != passed
        and _preempt(job, turn, jobs, owners, nodes, queue, running, trees, rules, counts)
    ):
        fits_now = place_gang(policy, nodes.matrix, jobs.asks, shape, trees, running.placed, first)
    if turn.queue == EASY and fits_now and counts[HEAD] >= 0:
        return _leaves_room_for_head(
            job, turn.now, policy, jobs, nodes, running, plan, trees, counts
        )
    if turn.queue == CONSERVATIVE:
        if fits_now and counts[TO_RESERVE] + counts[RESERVED] > 0:
            return _fits_the_plan(
                job, turn.now, policy, jobs, nodes, running, plan, trees, rules, counts
            )
        if not fits_now and counts[RESERVED] + counts[TO_RESERVE] < rules.depth:
            plan.reserving[counts[TO_RESERVE]] = job
            counts[TO_RESERVE] += 1
    return fits_now


@njit(**PART)
def _begin(job, turn, jobs, owners, nodes, queue, running, plan, rules, counts):
    """Start a job that has its nodes; a plan learns when they are believed to be free again."""
    shape, first = jobs.shape_of[job], counts[ROWS]
    begin_attempt(job, turn.now, jobs, owners, nodes, running, rules, counts)
    if rules.alike:
        join_running(job, turn, jobs, owners, queue, running, rules, counts)
    leave_queue(shape, jobs, queue, counts)
    if turn.queue == CONSERVATIVE and counts[PLAN_READY]:
        for row in range(first, counts[ROWS]):
            node, bits = running.placed[row, ON_NODE], running.placed[row, ON_GPUS]
            enter(plan, counts, jobs.table[job, JOB_BELIEVED], 1, node, shape, bits)


@njit(**LOOP)
def _close_gap(waiting, kept, place, count, spare):
    """Move the jobs from a place on up to those that were kept; return how many there are."""
    if kept == place:
        return count
    # by way of spare room: the compiler moves many at once only where nothing overlaps
    rest, to = waiting[place:count], waiting[kept:]
    for one in range(rest.size):
        spare[one] = rest[one]
    for one in range(rest.size):
        to[one] = spare[one]
    return kept + rest.size


@njit(**LOOP)
def scheduling_pass(turn, policy, rules, jobs, owners, nodes, queue, running, plan, trees, counts):
    """Start every job that may start now, in queue order; return how many did."""
    waiting, order = queue.jobs, turn.order
    if rules.keys_move and not rules.still:
        counts[SORTED] = 0
    find_keys(turn.fresh_keys, turn.now, order, jobs, owners, queue, running, rules, counts)
    sort_in(waiting, queue.keys, counts[SORTED], counts[WAITING], queue.victims)
    if rules.alike:
        follow_jumps(turn, jobs, owners, queue, running, rules, counts)
    counts[PASSES] += 1
    counts[FAILED_KINDS] = counts[EVICTED] = counts[PLAN_READY] = 0
    counts[PLAN_SIZE] = counts[RESERVED] = counts[TO_RESERVE] = 0
    counts[HEAD] = -1
    if rules.per_user > 0:
        queue.per_user[:] = 0
    started = kept = place = 0
    while place < counts[WAITING]:
        job = waiting[place]
        place += 1
        waiting[kept] = job
        kept += 1
        if not _is_considered(job, turn, jobs, owners, queue, rules, counts):
            continue
        if _place(
            job, turn, policy, rules, jobs, owners, nodes, queue, running, plan, trees, counts
        ):
            _begin(job, turn, jobs, owners, nodes, queue, running, plan, rules, counts)
            started += 1
            kept -= 1
            if rules.resort:
                # keys have moved with this start: order those left, and begin again
                counts[WAITING] = _close_gap(waiting, kept, place, counts[WAITING], queue.victims)
                find_keys(True, turn.now, order, jobs, owners, queue, running, rules, counts)
                sort_queue(waiting, queue.keys, counts[WAITING])
                place = kept = 0
                if rules.per_user > 0:
                    queue.per_user[:] = 0
                if rules.preempt:
                    queue.unmoved_at[:] = -1
            continue
        if turn.queue == STRICT:
            break
        if counts[HEAD] < 0:
            counts[HEAD] = jobs.shape_of[job]
            queue.per_user[int(jobs.table[job, JOB_USER])] += 1
        # every kind that waits has found no room, nor anybody to make room for it
        if counts[FAILED_KINDS] >= counts[KINDS] and not (turn.preempts and rules.resort):
            break
    counts[WAITING] = _close_gap(waiting, kept, place, counts[WAITING], queue.victims)
    counts[SORTED] = counts[WAITING]
    # the last first: those preempted earlier come later in the order
    for back in range(counts[EVICTED], 0, -1):
        join_queue(queue.victims[queue.victims.size - back], jobs, queue, rules, counts)
    return started
