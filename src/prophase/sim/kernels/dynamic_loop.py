"""The event loop: ends, nodes that go and come, arrivals, then a pass over the line.

At one instant: attempts end; nodes are lost, drained or returned; booted nodes become ready
and idle ones stop; jobs arrive; one pass is made; what still waits may make nodes boot.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from prophase.sim.attempts import FINISHED, NODE_LOST, OUT_OF_MEMORY
from prophase.sim.kernels.dynamic.array_layout import (
    ALARMS,
    ATTEMPTS,
    COUNTS,
    EASY,
    FRUITLESS,
    LOSE,
    RETURN,
    ROWS,
    RULE_BOOT,
    RULE_CLOCK,
    RULE_ELASTIC,
    RULE_IDLE,
    RULE_PLAN_ON_TICK,
    RULE_QUEUE,
    RULE_REKEY,
    RULE_TICK,
    RUNNING,
    STRICT,
    SWITCHES,
    WAITING,
)
from prophase.sim.kernels.dynamic.node_availability import (
    BOOTING,
    READY,
    STOPPED,
    next_idle,
    nodes_counted_on,
    note_power,
    switch,
)
from prophase.sim.kernels.dynamic.running_jobs import stop_attempt
from prophase.sim.kernels.dynamic.scheduling_pass import scheduling_pass
from prophase.sim.kernels.dynamic.waiting_queue import join_queue
from prophase.sim.kernels.gang_placement import ON_NODE
from prophase.sim.signatures import (
    ASK_INSTANCES,
    CHOICE_FUNCTION,
    FLAG,
    FLOAT_GRID,
    FLOAT_LINE,
    FREE_SHARE,
    INT,
    INT_GRID,
    INT_LINE,
    JOB_KEY,
    JOB_REMAINING,
    JOB_SUBMIT,
    KEY_FUNCTION,
    REFRESH_FUNCTION,
    SCORE_FUNCTION,
)


@njit(cache=True)
def _grown(rows, needed):
    """Return a matrix with room for so many rows."""
    if needed <= rows.shape[0]:
        return rows
    larger = np.zeros((max(needed, 2 * rows.shape[0]), rows.shape[1]), rows.dtype)
    larger[: rows.shape[0]] = rows
    return larger


@njit(
    types.Tuple((INT_GRID, FLOAT_GRID, INT_GRID, FLOAT_GRID, INT_GRID, INT))(
        FLOAT_GRID,
        INT_LINE,
        INT_LINE,
        INT_LINE,
        FLOAT_LINE,
        INT_GRID,
        FLOAT_GRID,
        INT_GRID,
        FLOAT_LINE,
        INT_GRID,
        INT_GRID,
        KEY_FUNCTION,
        REFRESH_FUNCTION,
        FLOAT_GRID,
        SCORE_FUNCTION,
        CHOICE_FUNCTION,
        FLOAT_GRID,
        FLAG,
        FLOAT_GRID,
        FLOAT_GRID,
        INT,
        FLOAT_LINE,
        INT_GRID,
        FLOAT_LINE,
        FLOAT_GRID,
        INT_GRID,
        INT_GRID,
        INT_LINE,
    ),
    cache=True,
)
def dynamic_loop(
    jobs,
    shape_of,
    first_rung,
    rung_shape,
    rung_work,
    quota_of,
    owners,
    quotas,
    whole,
    nodes,
    asks,
    key,
    refresh,
    order_facts,
    score,
    choose_gpu,
    facts,
    fill,
    speeds,
    pairs,
    slots,
    outage_times,
    outages,
    rules,
    scores,
    winners,
    shapes,
    log,
):
    """Replay jobs in order of submission; return the attempts' record and the nodes' switches.

    ``first_rung`` has one entry more than there are jobs; the rungs of a job are the requests
    it climbs: each but the last ends, after its work, out of memory.
    """
    count, machines = jobs.shape[0], nodes.shape[0]
    counts = np.zeros(COUNTS, np.int64)
    record = np.zeros((count + 1, 4), np.int64)
    times = np.zeros((count + 1, 3), np.float64)
    most = 1
    for shape in range(asks.shape[0]):
        most = max(most, asks[shape, ASK_INSTANCES])
    placed = np.full((count + most, 2), -1, np.int64)
    rung_of, row_of = np.zeros(count, np.int64), np.zeros(count, np.int64)
    attempt_of = np.zeros(count, np.int64)
    runners, runner_spot = np.zeros(count, np.int64), np.full(count, -1, np.int64)
    due, heap, spot = np.zeros(count), np.zeros(count, np.int64), np.full(count, -1, np.int64)
    line, keys = np.zeros(count, np.int64), jobs[:, JOB_KEY].copy()
    victims, reserving = np.zeros(2 * count, np.int64), np.zeros(count + 1, np.int64)
    queued = np.zeros(asks.shape[0], np.int64)
    failed_at = np.full(asks.shape[0], -1, np.int64)
    unmoved_at = np.full(asks.shape[0], -1, np.int64)
    user_seen = np.zeros(owners.shape[0], np.int64)
    plans = rules[RULE_QUEUE] >= EASY
    scratch, low = np.empty_like(nodes), np.empty_like(nodes)
    sweep, seen = np.empty_like(nodes), np.empty_like(nodes)
    plan_times, plan_events = np.zeros((1, 1)), np.zeros((1, 4), np.int64)
    planned = np.zeros((most, 2), np.int64)
    tenants = np.full((machines, (nodes.shape[1] - FREE_SHARE) * slots), -1, np.int64)
    busy, idle_since = np.zeros(machines, np.int64), np.zeros(machines)
    reasons_off, elastic = np.zeros(machines, np.int64), np.full(machines, READY)
    ready_at, wanted_nodes = np.full(machines, np.inf), np.zeros(machines, np.bool_)
    power_times, power = np.zeros((1, 1)), np.zeros((1, 2), np.int64)
    scales = rules[RULE_ELASTIC] < machines
    origin = jobs[0, JOB_SUBMIT] - rules[RULE_CLOCK]
    for node in range(int(rules[RULE_ELASTIC]), machines):
        elastic[node] = STOPPED
        switch(nodes, node, reasons_off, True, log, counts)
    arrived = outage = 0
    rekeyed = -1.0
    now = jobs[0, JOB_SUBMIT]
    stalled = circling = False
    while arrived < count or counts[RUNNING] > 0 or counts[WAITING] > 0:
        upcoming = due[heap[0]] if counts[ALARMS] > 0 else np.inf
        if arrived < count:
            upcoming = min(upcoming, jobs[arrived, JOB_SUBMIT])
        if scales:
            upcoming = min(upcoming, ready_at.min())
        if counts[WAITING] > 0 and outage < outage_times.size:
            upcoming = min(upcoming, outage_times[outage])
        if upcoming == np.inf and (stalled or rules[RULE_TICK] == 0):
            # only jobs that never end or can never start are left
            break
        if outage < outage_times.size:
            upcoming = min(upcoming, outage_times[outage])
        if scales:
            upcoming = min(upcoming, next_idle(rules, nodes, elastic, busy, idle_since))
        ticks = False
        if rules[RULE_TICK] > 0 and counts[WAITING] > 0:
            passed = np.floor((now - origin) / rules[RULE_TICK]) + 1.0
            tick = origin + passed * rules[RULE_TICK]
            if tick <= now:
                tick = origin + (passed + 1.0) * rules[RULE_TICK]
            ticks = tick <= upcoming
            upcoming = min(upcoming, tick)
        now = upcoming

        while counts[ALARMS] > 0 and due[heap[0]] <= now:
            job = heap[0]
            counts[FRUITLESS] = 0
            last = first_rung[job] + rung_of[job] + 1 == first_rung[job + 1]
            outcome = FINISHED if last else OUT_OF_MEMORY
            stop_attempt(
                job, now, outcome, jobs, shape_of, row_of, attempt_of, owners, quotas, quota_of,
                whole, nodes, asks, placed, record, times, runners, runner_spot, tenants, slots,
                busy, idle_since, rules, speeds, pairs, due, heap, spot, log, counts,
            )  # fmt: skip
            if not last:
                rung_of[job] += 1
                rung = first_rung[job] + rung_of[job]
                shape_of[job] = rung_shape[rung]
                jobs[job, JOB_REMAINING] = rung_work[rung]
                join_queue(line, keys, rules, queued, shape_of, job, counts)
        while outage < outage_times.size and outage_times[outage] <= now:
            node, kind = outages[outage, 0], outages[outage, 1]
            switch(nodes, node, reasons_off, kind != RETURN, log, counts)
            if kind == LOSE:
                place = 0
                while place < counts[RUNNING]:
                    job = runners[place]
                    here = False
                    for row in range(row_of[job], row_of[job] + asks[shape_of[job], ASK_INSTANCES]):
                        here = here or placed[row, ON_NODE] == node
                    if not here:
                        place += 1
                        continue
                    stop_attempt(
                        job, now, NODE_LOST, jobs, shape_of, row_of, attempt_of, owners, quotas,
                        quota_of, whole, nodes, asks, placed, record, times, runners, runner_spot,
                        tenants, slots, busy, idle_since, rules, speeds, pairs, due, heap, spot,
                        log, counts,
                    )  # fmt: skip
                    join_queue(line, keys, rules, queued, shape_of, job, counts)
            outage += 1
        if scales:
            power = _grown(power, counts[SWITCHES] + 2 * machines)
            power_times = _grown(power_times, counts[SWITCHES] + 2 * machines)
            for node in range(int(rules[RULE_ELASTIC]), machines):
                if elastic[node] == BOOTING and ready_at[node] <= now:
                    elastic[node], ready_at[node], idle_since[node] = READY, np.inf, now
                    switch(nodes, node, reasons_off, False, log, counts)
                idle = elastic[node] == READY and busy[node] == 0
                if idle and idle_since[node] + rules[RULE_IDLE] <= now:
                    elastic[node] = STOPPED
                    switch(nodes, node, reasons_off, True, log, counts)
                    note_power(power_times, power, counts, now, node, 0)
        while arrived < count and jobs[arrived, JOB_SUBMIT] <= now:
            join_queue(line, keys, rules, queued, shape_of, arrived, counts)
            counts[FRUITLESS] = 0
            arrived += 1

        if counts[WAITING] > 0:
            queue_rule = int(rules[RULE_QUEUE])
            if rules[RULE_PLAN_ON_TICK] != 0 and not ticks:
                queue_rule = STRICT
            fresh = True
            if rules[RULE_REKEY] > 0:
                looks = np.floor((now - origin) / rules[RULE_REKEY])
                fresh, rekeyed = looks > rekeyed, looks
            turns, evicted = 0, 1
            stalled = queue_rule == int(rules[RULE_QUEUE])
            while turns < 2 and evicted > 0:
                rows = 0
                for shape in range(asks.shape[0]):
                    rows += queued[shape] * asks[shape, ASK_INSTANCES]
                needed = counts[ATTEMPTS] + counts[WAITING] + 1
                record, times = _grown(record, needed), _grown(times, needed)
                placed = _grown(placed, counts[ROWS] + rows + most)
                if plans:
                    busy_rows = busy.sum()
                    size = busy_rows + 2 * rows + 2 * most
                    plan_times = _grown(plan_times, size)
                    plan_events = _grown(plan_events, size)
                started, evicted = scheduling_pass(
                    now, queue_rule, turns == 0, fresh, key, refresh, order_facts, score,
                    choose_gpu, facts, fill, jobs, shape_of, rung_of, row_of, attempt_of, owners,
                    quotas, quota_of, whole, nodes, scratch, sweep, seen, low, asks, placed,
                    record, times, runners, runner_spot, tenants, slots, busy, idle_since, rules,
                    speeds, pairs, due, heap, spot, line, keys, scores, winners, shapes, log,
                    failed_at, unmoved_at, queued, user_seen, victims, plan_times[:, 0],
                    plan_events, planned, reserving, counts,
                )  # fmt: skip
                stalled = stalled and started == 0
                turns += 1
        if scales:
            nodes_counted_on(
                rules, nodes, scratch, asks, shape_of, quotas, quota_of, line, counts, elastic,
                reasons_off, wanted_nodes,
            )  # fmt: skip
            for node in range(int(rules[RULE_ELASTIC]), machines):
                if wanted_nodes[node] and elastic[node] == STOPPED:
                    elastic[node], ready_at[node] = BOOTING, now + rules[RULE_BOOT]
                    note_power(power_times, power, counts, now, node, 1)
                elif wanted_nodes[node]:
                    # or nodes for a gang would stop one by one while others boot
                    idle_since[node] = np.inf
                elif idle_since[node] == np.inf:
                    idle_since[node] = now
        if counts[FRUITLESS] > 1000 + 100 * (counts[RUNNING] + counts[WAITING]):
            circling = True
            break
    switches = counts[SWITCHES]
    return (
        record[: counts[ATTEMPTS]].copy(),
        times[: counts[ATTEMPTS]].copy(),
        placed[: counts[ROWS]].copy(),
        power_times[:switches].copy(),
        power[:switches].copy(),
        -1 if circling else counts[WAITING],
    )
