"""The Slurm loop: a main scheduler at every event, a backfill scheduler by the clock.

At one instant: attempts end; nodes are lost, drained or returned; jobs arrive, or their time has
come; the main scheduler's pass, then, if it is due and something has changed since the last one,
the backfill scheduler's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prophase.sim.array_groups import compiled
from prophase.sim.attempts import FINISHED, NODE_LOST
from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import (
    ARRIVED,
    ATTEMPTS,
    ENDED,
    ENDS,
    LOSE,
    NEED_ATTEMPTS,
    NEED_ROWS,
    NEEDS_ROOM,
    OUTAGES,
    RETURN,
    ROWS,
    RUNNING,
    TICKED,
    WAITING,
)
from prophase.sim.kernels.queue_heaps import pop_end
from prophase.sim.kernels.queue_order import next_tick
from prophase.sim.kernels.slurm.array_layout import (
    CHANGES,
    DIRTY,
    GAPS,
    LAST_CHANGES,
    LAST_MAIN,
    LATER,
    LEFT,
    LEFT_ROWS,
    MAIN_DUE,
    NEXT_PLANNED,
    NOW,
    OFF,
    ON_NODE,
    REKEYED,
    UNSORTED,
    SlurmJobs,
    SlurmNodes,
    SlurmOrder,
    SlurmOutages,
    SlurmOwners,
    SlurmPlan,
    SlurmQueue,
    SlurmRules,
    SlurmRunning,
)
from prophase.sim.kernels.slurm.attempts import begin_attempt, finish, join_queue, stop_attempt
from prophase.sim.kernels.slurm.node_readiness import note_change
from prophase.sim.kernels.slurm.passes import backfill_pass, find_keys, main_pass
from prophase.sim.signatures import (
    ASK_INSTANCES,
    INT,
    JOB_SUBMIT,
    KEY_FUNCTION,
    LOOP,
    REFRESH_FUNCTION,
    FloatGrid,
    FloatLine,
    IntLine,
)


class SlurmReplay(NamedTuple):
    """The whole state."""

    jobs: SlurmJobs
    owners: SlurmOwners
    nodes: SlurmNodes
    queue: SlurmQueue
    running: SlurmRunning
    plan: SlurmPlan
    outages: SlurmOutages
    counts: IntLine
    clock: FloatLine


class SlurmSettings(NamedTuple):
    """What does not change during a replay."""

    order_facts: FloatGrid
    rules: SlurmRules


@njit(**LOOP)
def _advance(jobs, nodes, queue, running, outages, rules, counts, clock):
    """Move the clock to the next event; return False if there is none."""
    count, upcoming = jobs.shape_of.size, np.inf
    if counts[ENDS] > 0:
        upcoming = running.end_s[running.heap[0]]
    if counts[ARRIVED] < count:
        upcoming = min(upcoming, jobs.table[counts[ARRIVED], JOB_SUBMIT])
    if counts[LATER] > 0:
        upcoming = min(upcoming, queue.later_s[0])
    upcoming = min(upcoming, clock[MAIN_DUE])
    outage_s = np.inf
    if counts[OUTAGES] < outages.times.size:
        outage_s = outages.times[counts[OUTAGES]]
    if counts[WAITING] > counts[GAPS]:
        upcoming = min(upcoming, outage_s)
    counts[TICKED] = 0
    tick = np.inf
    if counts[WAITING] > counts[GAPS] and rules.every_s > 0:
        origin = jobs.table[0, JOB_SUBMIT] - rules.clock_s
        tick = next_tick(clock[NOW], origin, rules.every_s)
        if not (counts[DIRTY] or counts[CHANGES] != counts[LAST_CHANGES]):
            # nothing has changed since the last plan: wait until it begins, or for an event
            planned = max(clock[NEXT_PLANNED], clock[NOW])
            opens = _next_opening(clock[NOW], nodes)
            later = min(planned, opens)
            tick = np.inf
            if later < np.inf:
                tick = next_tick(max(later - 1e-9, clock[NOW]), origin, rules.every_s)
    if upcoming == np.inf and tick == np.inf:
        return False
    upcoming = min(upcoming, outage_s)
    counts[TICKED] = tick <= upcoming
    if rules.every_s > 0:
        # an event may fall on a tick that nobody had reason to wait for
        origin = jobs.table[0, JOB_SUBMIT] - rules.clock_s
        passed = np.floor((upcoming - origin) / rules.every_s)
        if passed > 0 and origin + passed * rules.every_s == upcoming:
            counts[TICKED] = 1
    clock[NOW] = min(upcoming, tick)
    return True


@njit(**LOOP)
def _next_opening(now, nodes):
    """Return when the next reservation begins or ends."""
    soonest = np.inf
    for row in range(nodes.opens_s.size):
        if nodes.opens_s[row] > now:
            soonest = min(soonest, nodes.opens_s[row])
        if nodes.closes_s[row] > now:
            soonest = min(soonest, nodes.closes_s[row])
    return soonest


@njit(**LOOP)
def _follow_outages(now, jobs, owners, nodes, queue, running, plan, outages, rules, counts):
    """Lose, drain and return nodes; jobs on a lost node wait again."""
    while counts[OUTAGES] < outages.times.size and outages.times[counts[OUTAGES]] <= now:
        node, kind = outages.events[counts[OUTAGES], 0], outages.events[counts[OUTAGES], 1]
        counts[OUTAGES] += 1
        nodes.free[node, OFF] += -1 if kind == RETURN else 1
        note_change(node, plan, counts)
        if kind != LOSE:
            continue
        place = 0
        while place < counts[RUNNING]:
            job = running.jobs[place]
            here, first = False, jobs.row_of[job]
            for row in range(first, first + jobs.asks[jobs.shape_of[job], ASK_INSTANCES]):
                here = here or running.placed[row, ON_NODE] == node
            if not here:
                place += 1
                continue
            stop_attempt(job, now, NODE_LOST, jobs, owners, nodes, running, plan, rules, counts)
            jobs.begin_s[job] = now + rules.requeue_s
            join_queue(job, now, jobs, queue, counts)


@njit(**LOOP)
def _arrive(now, jobs, owners, nodes, queue, running, plan, rules, counts):
    """Let jobs come: those that run already go to their nodes, others to the queue."""
    while counts[ARRIVED] < jobs.shape_of.size:
        job = counts[ARRIVED]
        if jobs.table[job, JOB_SUBMIT] > now:
            break
        counts[ARRIVED] += 1
        first, last = jobs.held_first[job], jobs.held_first[job + 1]
        if last == first:
            join_queue(job, now, jobs, queue, counts)
            continue
        for place in range(first, last):
            plan.chosen[place - first] = jobs.held[place]
        begin_attempt(job, now, jobs, owners, nodes, queue, running, plan, rules, counts)
    while counts[LATER] > 0 and queue.later_s[0] <= now:
        job = queue.later[0]
        counts[LATER] = pop_end(queue.later_s, queue.later, counts[LATER])
        join_queue(job, now, jobs, queue, counts)


@njit(**LOOP)
def _lacks_room(running, counts):
    """Say how many rows the next instant may need; tell whether there are fewer."""
    # whoever has not ended may start, be preempted and start again
    counts[NEED_ATTEMPTS] = counts[ATTEMPTS] + 2 * counts[LEFT]
    counts[NEED_ROWS] = counts[ROWS] + 2 * counts[LEFT_ROWS]
    return (
        counts[NEED_ATTEMPTS] > running.times.shape[0]
        or counts[NEED_ROWS] > running.placed.shape[0]
    )


@njit(
    INT(KEY_FUNCTION, REFRESH_FUNCTION, compiled(SlurmSettings), compiled(SlurmReplay)),
    **LOOP,
)
def slurm_loop(key, refresh, settings, replay):
    """Replay jobs in order of submission until the end, or until arrays have to grow."""
    order, rules = SlurmOrder(key, refresh, settings.order_facts), settings.rules
    jobs, owners, nodes, queue = replay.jobs, replay.owners, replay.nodes, replay.queue
    running, plan, outages = replay.running, replay.plan, replay.outages
    counts, clock = replay.counts, replay.clock
    while True:
        if _lacks_room(running, counts):
            return NEEDS_ROOM
        if not _advance(jobs, nodes, queue, running, outages, rules, counts, clock):
            return ENDED
        now, changes = clock[NOW], counts[CHANGES]
        before = counts[ARRIVED] + counts[LATER]
        while counts[ENDS] > 0 and running.end_s[running.heap[0]] <= now:
            job = running.heap[0]
            stop_attempt(job, now, FINISHED, jobs, owners, nodes, running, plan, rules, counts)
            finish(job, now, jobs, queue, counts)
        _follow_outages(now, jobs, owners, nodes, queue, running, plan, outages, rules, counts)
        _arrive(now, jobs, owners, nodes, queue, running, plan, rules, counts)
        happened = counts[UNSORTED] or counts[ARRIVED] + counts[LATER] != before
        if counts[WAITING] == counts[GAPS]:
            counts[WAITING] = counts[GAPS] = 0
            clock[MAIN_DUE] = np.inf
            continue
        if happened:
            # submissions of a while are taken together
            soonest = max(now + rules.main_s, clock[LAST_MAIN] + rules.main_every_s)
            clock[MAIN_DUE] = min(clock[MAIN_DUE], soonest)
        is_due = counts[CHANGES] != changes or clock[MAIN_DUE] <= now
        if not (is_due or counts[TICKED]):
            continue
        fresh = False
        if rules.keys_move:
            origin = jobs.table[0, JOB_SUBMIT] - rules.clock_s
            evaluations = np.floor((now - origin) / rules.rekey_s)
            fresh, clock[REKEYED] = evaluations > clock[REKEYED], evaluations
        find_keys(fresh, now, order, jobs, owners, queue, rules, counts)
        if clock[MAIN_DUE] <= now:
            clock[MAIN_DUE], clock[LAST_MAIN] = np.inf, now
        if is_due:
            main_pass(now, jobs, owners, nodes, queue, running, plan, rules, counts)
        if counts[TICKED] and counts[WAITING] > counts[GAPS]:
            find_keys(False, now, order, jobs, owners, queue, rules, counts)
            counts[DIRTY] = 0
            backfill_pass(now, jobs, owners, nodes, queue, running, plan, rules, counts, clock)
            counts[LAST_CHANGES] = counts[CHANGES]
