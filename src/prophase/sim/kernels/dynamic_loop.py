"""The dynamic loop: keys, nodes and speeds change during a replay, and jobs may start again.

At one instant: attempts end; nodes are lost, drained or returned; booted nodes become ready
and idle ones stop; jobs arrive; one pass is made; what still waits may make nodes boot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prophase.sim.array_groups import compiled
from prophase.sim.attempts import FINISHED, NODE_LOST, OUT_OF_MEMORY
from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import (
    ARRIVED,
    ATTEMPTS,
    CIRCLING,
    EASY,
    ENDED,
    ENDS,
    EVICTED,
    FORECASTS,
    FRUITLESS,
    HOURS,
    HOURS_FROM,
    HOURS_LONGEST,
    HOURS_TO,
    LOSE,
    NEED_ATTEMPTS,
    NEED_EVENTS,
    NEED_ROWS,
    NEED_SWITCHES,
    NEEDS_ROOM,
    NOW,
    OUTAGES,
    PASS_DUE,
    REKEYED,
    RETURN,
    ROWS,
    RUNNING,
    RUNNING_ROWS,
    STALLED,
    STRICT,
    SWITCHES,
    TICKED,
    WAITING,
    WAITING_ROWS,
    JobArrays,
    NodeArrays,
    Order,
    OwnerArrays,
    PlanArrays,
    PowerArrays,
    QueueArrays,
    Rules,
    RunningArrays,
    Turn,
)
from prophase.sim.kernels.dynamic.node_availability import (
    boot_wanted,
    next_idle,
    next_ready,
    ready_and_stop,
    switch,
)
from prophase.sim.kernels.dynamic.running_jobs import stop_attempt
from prophase.sim.kernels.dynamic.scheduling_pass import scheduling_pass
from prophase.sim.kernels.dynamic.waiting_queue import join_queue
from prophase.sim.kernels.gang_placement import ON_NODE
from prophase.sim.kernels.queue_order import next_tick
from prophase.sim.kernels.score_trees import PlaceRules, Policy, ScoreTrees
from prophase.sim.signatures import (
    ASK_INSTANCES,
    CHOICE_FUNCTION,
    INT,
    JOB_REMAINING,
    JOB_SUBMIT,
    KEY_FUNCTION,
    LOOP,
    PART,
    REFRESH_FUNCTION,
    SCORE_FUNCTION,
    FloatGrid,
    FloatLine,
    IntLine,
)


class Replay(NamedTuple):
    """The whole state."""

    jobs: JobArrays
    owners: OwnerArrays
    nodes: NodeArrays
    queue: QueueArrays
    running: RunningArrays
    plan: PlanArrays
    power: PowerArrays
    trees: ScoreTrees
    #: places ARRIVED ... and NOW ...
    counts: IntLine
    clock: FloatLine


class Settings(NamedTuple):
    """What does not change during a replay."""

    place: PlaceRules
    order_facts: FloatGrid
    rules: Rules


@njit(**PART)
def _next_hours(now, hours, counts):
    """Return when the next hours with a rule of their own begin, or the present ones end."""
    if counts[HOURS] == hours.shape[0]:
        return np.inf
    begin = hours[counts[HOURS], HOURS_FROM]
    return begin if begin > now else hours[counts[HOURS], HOURS_TO]


@njit(**PART)
def _longest_now(now, hours, counts):
    """Return the longest job that may start now: it ends before the present hours do."""
    while counts[HOURS] < hours.shape[0] and hours[counts[HOURS], HOURS_TO] <= now:
        counts[HOURS] += 1
    if counts[HOURS] == hours.shape[0] or hours[counts[HOURS], HOURS_FROM] > now:
        return np.inf
    return min(hours[counts[HOURS], HOURS_LONGEST], hours[counts[HOURS], HOURS_TO] - now)


@njit(**PART)
def _advance(jobs, nodes, running, power, rules, counts, clock):
    """Move the clock to the next event; return False if there is none."""
    count = jobs.shape_of.size
    if counts[ARRIVED] == count and counts[RUNNING] == 0 and counts[WAITING] == 0:
        return False
    scales = rules.elastic_from < nodes.busy.size
    outage_s = np.inf
    if counts[OUTAGES] < power.outage_s.size:
        outage_s = power.outage_s[counts[OUTAGES]]
    upcoming = running.end_s[running.heap[0]] if counts[ENDS] > 0 else np.inf
    if counts[ARRIVED] < count:
        upcoming = min(upcoming, jobs.table[counts[ARRIVED], JOB_SUBMIT])
    if scales:
        upcoming = min(upcoming, next_ready(power))
        if counts[ARRIVED] < count and counts[FORECASTS] < power.ahead_s.size:
            upcoming = min(upcoming, power.ahead_s[counts[FORECASTS]])
    if counts[WAITING] > 0:
        upcoming = min(upcoming, outage_s, _next_hours(clock[NOW], power.hours, counts))
    if upcoming == np.inf and (counts[STALLED] or rules.tick_s == 0):
        # only jobs that never end or can never start are left
        return False
    upcoming = min(upcoming, outage_s)
    if scales:
        upcoming = min(upcoming, next_idle(rules, nodes, power))
    counts[TICKED] = 0
    if rules.tick_s > 0 and counts[WAITING] > 0:
        origin = jobs.table[0, JOB_SUBMIT] - rules.clock_s
        tick = next_tick(clock[NOW], origin, rules.tick_s)
        counts[TICKED] = tick <= upcoming
        upcoming = min(upcoming, tick)
    clock[NOW] = upcoming
    return True


@njit(**LOOP)
def _end_attempts(now, jobs, owners, nodes, queue, running, trees, rules, counts):
    """End the attempts that are due; jobs that ran out of memory wait with a larger request."""
    while counts[ENDS] > 0 and running.end_s[running.heap[0]] <= now:
        job = running.heap[0]
        counts[FRUITLESS] = 0
        last = jobs.first_rung[job] + jobs.rung_of[job] + 1 == jobs.first_rung[job + 1]
        outcome = FINISHED if last else OUT_OF_MEMORY
        stop_attempt(job, now, outcome, jobs, owners, nodes, running, trees, rules, counts)
        if not last:
            jobs.rung_of[job] += 1
            rung = jobs.first_rung[job] + jobs.rung_of[job]
            jobs.shape_of[job] = jobs.rung_shape[rung]
            jobs.table[job, JOB_REMAINING] = jobs.rung_work[rung]
            join_queue(job, jobs, queue, rules, counts)


@njit(**LOOP)
def _follow_outages(now, jobs, owners, nodes, queue, running, power, trees, rules, counts):
    """Lose, drain and return nodes; jobs on a lost node wait again."""
    while counts[OUTAGES] < power.outage_s.size and power.outage_s[counts[OUTAGES]] <= now:
        node, kind = power.outages[counts[OUTAGES], 0], power.outages[counts[OUTAGES], 1]
        counts[OUTAGES] += 1
        switch(nodes, node, kind != RETURN, trees)
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
            stop_attempt(job, now, NODE_LOST, jobs, owners, nodes, running, trees, rules, counts)
            join_queue(job, jobs, queue, rules, counts)


@njit(**PART)
def _lacks_room(running, plan, power, nodes, rules, counts):
    """Say how many rows the passes of this instant may need; tell whether there are fewer."""
    # every waiting job may start, and in a second pass once more with all that were preempted
    again = 2 * counts[WAITING_ROWS] + counts[RUNNING_ROWS]
    counts[NEED_ATTEMPTS] = counts[ATTEMPTS] + 2 * counts[WAITING] + counts[RUNNING] + 1
    counts[NEED_ROWS] = counts[ROWS] + again + plan.planned.shape[0]
    counts[NEED_EVENTS] = 0
    if rules.queue >= EASY:
        counts[NEED_EVENTS] = 2 * (again + plan.planned.shape[0])
    counts[NEED_SWITCHES] = 0
    if rules.elastic_from < nodes.busy.size:
        counts[NEED_SWITCHES] = counts[SWITCHES] + 2 * nodes.busy.size
    return (
        counts[NEED_ATTEMPTS] > running.times.shape[0]
        or counts[NEED_ROWS] > running.placed.shape[0]
        or counts[NEED_EVENTS] > plan.times.size
        or counts[NEED_SWITCHES] > power.switch_s.size
    )


@njit(
    INT(
        SCORE_FUNCTION,
        CHOICE_FUNCTION,
        KEY_FUNCTION,
        REFRESH_FUNCTION,
        compiled(Settings),
        compiled(Replay),
    ),
    **LOOP,
)
def dynamic_loop(score, choose_gpu, key, refresh, settings, replay):
    """Replay jobs in order of submission until the end, or until arrays have to grow."""
    policy = Policy(score, choose_gpu, settings.place)
    order, rules = Order(key, refresh, settings.order_facts), settings.rules
    jobs, owners, nodes, queue = replay.jobs, replay.owners, replay.nodes, replay.queue
    running, plan, power, trees = replay.running, replay.plan, replay.power, replay.trees
    counts, clock = replay.counts, replay.clock
    scales = rules.elastic_from < nodes.busy.size
    while True:
        if not counts[PASS_DUE]:
            if not _advance(jobs, nodes, running, power, rules, counts, clock):
                return ENDED
            now = clock[NOW]
            _end_attempts(now, jobs, owners, nodes, queue, running, trees, rules, counts)
            _follow_outages(now, jobs, owners, nodes, queue, running, power, trees, rules, counts)
            if scales:
                ready_and_stop(now, nodes, power, trees, rules, counts)
            while (
                counts[ARRIVED] < jobs.shape_of.size
                and jobs.table[counts[ARRIVED], JOB_SUBMIT] <= now
            ):
                join_queue(counts[ARRIVED], jobs, queue, rules, counts)
                counts[FRUITLESS] = 0
                counts[ARRIVED] += 1
            counts[PASS_DUE] = 1
        if _lacks_room(running, plan, power, nodes, rules, counts):
            return NEEDS_ROOM
        counts[PASS_DUE] = 0
        now = clock[NOW]
        if counts[WAITING] > 0:
            queue_rule = STRICT if rules.plan_on_tick and not counts[TICKED] else rules.queue
            fresh = True
            if rules.rekey_s > 0:
                origin = jobs.table[0, JOB_SUBMIT] - rules.clock_s
                evaluations = np.floor((now - origin) / rules.rekey_s)
                fresh, clock[REKEYED] = evaluations > clock[REKEYED], evaluations
            longest_s = _longest_now(now, power.hours, counts)
            started, turns, evicted = 0, 0, 1
            while turns < 2 and evicted > 0:
                preempts = rules.preempt and turns == 0
                turn = Turn(now, queue_rule, preempts, fresh, longest_s, order)
                started += scheduling_pass(
                    turn, policy, rules, jobs, owners, nodes, queue, running, plan, trees,
                    counts,
                )  # fmt: skip
                evicted = counts[EVICTED]
                turns += 1
            counts[STALLED] = started == 0 and queue_rule == rules.queue
        if scales:
            boot_wanted(now, jobs, owners, nodes, queue, plan, power, rules, counts)
        if counts[FRUITLESS] > 1000 + 100 * (counts[RUNNING] + counts[WAITING]):
            return CIRCLING
