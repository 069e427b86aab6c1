"""The main scheduler's pass and the backfill scheduler's pass."""

from __future__ import annotations

import numpy as np

from prophase.sim.attempts import PREEMPTED
from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import PASSES, WAITING
from prophase.sim.kernels.dynamic.usage_and_quotas import update_usage
from prophase.sim.kernels.queue_order import sort_queue
from prophase.sim.kernels.slurm.array_layout import (
    ASK_RESERVATION,
    BACKFILLS,
    CANCELLED,
    CHANGES,
    GAPS,
    HELD_UP,
    HELD_UP_AT,
    NEXT_PLANNED,
    PLANNED,
    UNSORTED,
)
from prophase.sim.kernels.slurm.attempts import (
    begin_attempt,
    finish,
    join_queue,
    stop_attempt,
)
from prophase.sim.kernels.slurm.earliest_start import (
    earliest,
    may_start_now,
    plan_start,
    start_now,
)
from prophase.sim.kernels.slurm.limits import within_limits
from prophase.sim.kernels.slurm.node_readiness import has_room
from prophase.sim.kernels.slurm.preemption import choose_victims
from prophase.sim.signatures import ASK_INSTANCES, JOB_USER, LOOP


@njit(**LOOP)
def find_keys(fresh, now, order, jobs, owners, queue, rules, counts):
    """Ask the order for the keys of waiting jobs, all (``fresh``) or those that have just come."""
    if not (fresh or counts[UNSORTED]):
        return
    _close_gaps(queue, counts)
    counts[UNSORTED] = 0
    usage = owners.table
    if fresh and rules.keys_move:
        for owner in range(usage.shape[0]):
            update_usage(usage, owner, now, rules.half_life_s)
        order.refresh(usage, now, order.facts)
    for place in range(counts[WAITING]):
        job = queue.jobs[place]
        if fresh or np.isnan(queue.keys[job]):
            key = order.key(jobs.table, job, usage, now, order.facts)
            queue.keys[job] = key + jobs.tier[job]
    sort_queue(queue.jobs, queue.keys, counts[WAITING])


@njit(**LOOP)
def _preempt(job, now, planned, jobs, owners, nodes, queue, running, plan, rules, counts):
    """Stop jobs that make room for this one, which has its nodes then; tell whether it worked."""
    count = choose_victims(
        job, now, planned, jobs, owners, nodes, queue, running, plan, rules, counts
    )
    for place in range(count):
        victim = queue.victims[place]
        stop_attempt(victim, now, PREEMPTED, jobs, owners, nodes, running, plan, rules, counts)
        jobs.begin_s[victim] = now + rules.requeue_s
        # from the back: it joins the queue behind the pass, which goes over the queue as it was
        queue.victims[queue.victims.size - 1 - place] = victim
    if count:
        # what they leave over may do for others: bounds of this pass no longer hold
        counts[BACKFILLS] += 1
    return count


@njit(**LOOP)
def _requeue(count, now, jobs, queue, counts):
    """Put the jobs that were preempted last into the queue again."""
    for place in range(count):
        victim = queue.victims[queue.victims.size - 1 - place]
        if jobs.preempt_mode[victim] == CANCELLED:
            finish(victim, now, jobs, queue, counts)
        else:
            join_queue(victim, now, jobs, queue, counts)


@njit(**LOOP)
def _close_gaps(queue, counts):
    """Take started jobs (-1) out of the queue."""
    if counts[GAPS] == 0:
        return
    kept = 0
    for place in range(counts[WAITING]):
        if queue.jobs[place] >= 0:
            queue.jobs[kept] = queue.jobs[place]
            kept += 1
    counts[WAITING], counts[GAPS] = kept, 0


@njit(**LOOP)
def _leave(place, queue, counts):
    """Let a job leave its place; the gap is closed when there are many."""
    queue.jobs[place] = -1
    counts[GAPS] += 1


@njit(**LOOP)
def main_pass(now, jobs, owners, nodes, queue, running, plan, rules, counts):
    """Start jobs in order; the first that finds no nodes closes its partition's to those behind.

    Returns how many started.
    """
    counts[PASSES] += 1
    plan.closed[:] = 0
    started = looked = shut = 0
    waiting, partitions = counts[WAITING], nodes.members.shape[0]
    for place in range(waiting):
        if looked >= rules.main_depth or shut >= partitions:
            break
        job = queue.jobs[place]
        if job < 0:
            continue
        partition = jobs.partition[job]
        if queue.held_up[partition] == counts[PASSES]:
            continue
        looked += 1
        if not within_limits(job, jobs, owners):
            if rules.limits_stop:
                _close(partition, nodes, queue, plan, counts)
                shut += 1
            continue
        begins, stopped = False, 0
        if looked > 1 or not _is_still_held_up(job, jobs, nodes, plan, counts):
            begins = start_now(job, now, jobs, nodes, plan, rules)
        if not begins and rules.preempts:
            stopped = _preempt(
                job, now, False, jobs, owners, nodes, queue, running, plan, rules, counts
            )
        if begins or stopped:
            begin_attempt(job, now, jobs, owners, nodes, queue, running, plan, rules, counts)
            _leave(place, queue, counts)
            started += 1
            _requeue(stopped, now, jobs, queue, counts)
        elif jobs.asks[jobs.shape_of[job], ASK_RESERVATION] < 0:
            if looked == 1:
                counts[HELD_UP], counts[HELD_UP_AT] = job + 1, counts[CHANGES]
            _close(partition, nodes, queue, plan, counts)
            shut += 1
    if 4 * counts[GAPS] > counts[WAITING]:
        _close_gaps(queue, counts)
    return started


@njit(**LOOP)
def _is_still_held_up(job, jobs, nodes, plan, counts):
    """Tell whether the job that held up the last pass finds no node among those that changed."""
    shape, since = jobs.shape_of[job], counts[HELD_UP_AT]
    if (
        counts[HELD_UP] != job + 1
        or jobs.asks[shape, ASK_INSTANCES] > 1
        or counts[CHANGES] - since > plan.log.size
        or nodes.reserved_begin.size > 0
    ):
        return False
    for change in range(since, counts[CHANGES]):
        node = plan.log[change & (plan.log.size - 1)]
        if has_room(nodes.free, node, jobs.asks, shape):
            return False
    return True


@njit(**LOOP)
def _close(partition, nodes, queue, plan, counts):
    """Close a partition and its nodes to the rest of the pass."""
    queue.held_up[partition] = counts[PASSES]
    for node in range(nodes.members.shape[1]):
        if nodes.members[partition, node]:
            plan.closed[node] = 1


@njit(**LOOP)
def _look_at(jobs, queue, rules, counts):
    """Find the places in the queue that a backfill pass looks at; return how many."""
    queue.per_user[:] = 0
    queue.per_partition[:] = 0
    looked = 0
    for place in range(counts[WAITING]):
        if looked >= rules.depth:
            break
        job = queue.jobs[place]
        if job < 0:
            continue
        user, partition = int(jobs.table[job, JOB_USER]), jobs.partition[job]
        queue.per_user[user] += 1
        queue.per_partition[partition] += 1
        if (rules.per_user > 0 and queue.per_user[user] > rules.per_user) or (
            rules.per_partition > 0 and queue.per_partition[partition] > rules.per_partition
        ):
            continue
        queue.looked_at[looked] = place
        looked += 1
    return looked


@njit(**LOOP)
def backfill_pass(now, jobs, owners, nodes, queue, running, plan, rules, counts, clock):
    """Give every job its nodes in time, in order; start those whose time is now.

    Returns how many started.
    """
    counts[BACKFILLS] += 1
    counts[PLANNED] = 0
    plan.number[:] = 0
    clock[NEXT_PLANNED] = np.inf
    looked, started = _look_at(jobs, queue, rules, counts), 0
    last = looked
    for turn in range(looked):
        # the plan only grows: once nobody behind could start now, it is of no use to go on
        while (
            last > turn
            and not rules.preempts
            and not may_start_now(
                queue.jobs[queue.looked_at[last - 1]], now, jobs, owners, nodes, plan
            )
        ):
            last -= 1
        if last <= turn:
            break
        place = queue.looked_at[turn]
        job = queue.jobs[place]
        if not within_limits(job, jobs, owners):
            continue
        instant, stopped = earliest(job, now, jobs, nodes, running, plan, rules, counts), 0
        if instant > now and rules.preempts:
            stopped = _preempt(
                job, now, True, jobs, owners, nodes, queue, running, plan, rules, counts
            )
            if not stopped and instant < np.inf:
                instant = earliest(job, now, jobs, nodes, running, plan, rules, counts)
        if instant == now or stopped:
            begin_attempt(job, now, jobs, owners, nodes, queue, running, plan, rules, counts)
            _leave(place, queue, counts)
            started += 1
            _requeue(stopped, now, jobs, queue, counts)
        elif instant < np.inf:
            plan_start(job, now, instant, jobs, plan, rules, counts)
            clock[NEXT_PLANNED] = min(clock[NEXT_PLANNED], instant)
    if 4 * counts[GAPS] > counts[WAITING]:
        _close_gaps(queue, counts)
    return started
