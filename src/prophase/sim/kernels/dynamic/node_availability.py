"""Nodes that come and go: outages, and an autoscaler that boots and stops nodes."""

from __future__ import annotations

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.dynamic.array_layout import (
    ARRIVED,
    FORECASTS,
    OFF,
    SWITCHES,
    WAITING,
)
from prophase.sim.kernels.dynamic.usage_and_quotas import within_quota
from prophase.sim.kernels.node_resources import copy_nodes, occupy, room, tightest
from prophase.sim.kernels.score_trees import note_change
from prophase.sim.signatures import ASK_GPUS, ASK_INSTANCES, ASK_MILLI, FREE_MEMORY, LOOP

#: what an elastic node is doing
STOPPED, BOOTING, READY = range(3)


@njit(**LOOP)
def switch(nodes, node, down, trees):
    """Count one more or one less reason for a node to be off, and make it so."""
    was = nodes.reasons_off[node]
    nodes.reasons_off[node] += 1 if down else -1
    if was == 0 and down:
        nodes.matrix[node, FREE_MEMORY] -= OFF
    elif was == 1 and not down:
        nodes.matrix[node, FREE_MEMORY] += OFF
    note_change(trees, node)


@njit(**LOOP)
def _note_power(power, counts, now, node, on):
    """Write down that an elastic node is paid for from now on, or no longer."""
    power.switch_s[counts[SWITCHES]] = now
    power.switches[counts[SWITCHES], 0], power.switches[counts[SWITCHES], 1] = node, on
    counts[SWITCHES] += 1


@njit(**LOOP)
def next_ready(power):
    """Return when the next booting node is ready."""
    soonest = np.inf
    for node in range(power.ready_s.size):
        soonest = min(soonest, power.ready_s[node])
    return soonest


@njit(**LOOP)
def next_idle(rules, nodes, power):
    """Return when the next elastic node will have been idle for long enough to stop."""
    soonest = np.inf
    for node in range(rules.elastic_from, nodes.busy.size):
        if power.state[node] == READY and nodes.busy[node] == 0:
            soonest = min(soonest, nodes.idle_since[node] + rules.idle_s)
    return soonest


@njit(**LOOP)
def ready_and_stop(now, nodes, power, trees, rules, counts):
    """Take booted nodes into use, and stop those that have been idle for long enough."""
    for node in range(rules.elastic_from, nodes.busy.size):
        if power.state[node] == BOOTING and power.ready_s[node] <= now:
            power.state[node], power.ready_s[node] = READY, np.inf
            nodes.idle_since[node] = now
            switch(nodes, node, False, trees)
        idle = power.state[node] == READY and nodes.busy[node] == 0
        if idle and nodes.idle_since[node] + rules.idle_s <= now:
            power.state[node] = STOPPED
            switch(nodes, node, True, trees)
            _note_power(power, counts, now, node, 0)


@njit(**LOOP)
def boot_wanted(now, jobs, owners, nodes, queue, plan, power, rules, counts):
    """Boot the nodes that waiting and forecast jobs need, and keep those that are counted on."""
    while counts[FORECASTS] < power.ahead_s.size and power.ahead_s[counts[FORECASTS]] <= now:
        counts[FORECASTS] += 1
    _count_on(jobs, owners, nodes, queue, plan.future, power, rules, counts)
    for node in range(rules.elastic_from, nodes.busy.size):
        if power.wanted[node] and power.state[node] == STOPPED:
            power.state[node], power.ready_s[node] = BOOTING, now + rules.boot_s
            _note_power(power, counts, now, node, 1)
        elif power.wanted[node]:
            # or nodes for a gang would stop one by one while others boot
            nodes.idle_since[node] = np.inf
        elif nodes.idle_since[node] == np.inf:
            nodes.idle_since[node] = now


@njit(**LOOP)
def _count_on(jobs, owners, nodes, queue, future, power, rules, counts):
    """Mark the nodes that waiting jobs will run on once all that are needed have booted.

    Waiting jobs are packed in the order of the queue: on what is free of the nodes that are
    ready, then on those that are booting, then on stopped ones. Jobs that are forecast come last.
    """
    asks = jobs.asks
    power.wanted[:] = 0
    copy_nodes(nodes.matrix, future)
    for node in range(rules.elastic_from, nodes.busy.size):
        if power.state[node] != READY and nodes.reasons_off[node] == 1:
            future[node, FREE_MEMORY] += OFF
    # a shape that finds no room finds none later in this walk either
    power.full[:] = 0
    for place in range(counts[WAITING]):
        job = queue.jobs[place]
        shape = jobs.shape_of[job]
        if power.full[shape] or not within_quota(owners, job, asks, shape):
            continue
        _pack(asks, shape, asks[shape, ASK_INSTANCES], future, power)
    if counts[FORECASTS] == 0 or counts[ARRIVED] == jobs.shape_of.size:
        return
    forecast = counts[FORECASTS] - 1
    for row in range(power.ahead_first[forecast], power.ahead_first[forecast + 1]):
        shape = power.ahead[row, 0]
        if not power.full[shape]:
            _pack(asks, shape, power.ahead[row, 1] * asks[shape, ASK_INSTANCES], future, power)


@njit(**LOOP)
def _pack(asks, shape, needed, future, power):
    """Give instances room on nodes and mark those; note whether some found none."""
    for stage in (READY, BOOTING, STOPPED):
        for node in range(future.shape[0]):
            if power.state[node] != stage:
                continue
            while needed > 0 and room(future, node, asks, shape) > 0:
                bits = tightest(future, node, asks[shape, ASK_GPUS], asks[shape, ASK_MILLI])
                occupy(future, node, asks, shape, bits)
                power.wanted[node] = 1
                needed -= 1
            if needed == 0:
                break
        if needed == 0:
            break
    power.full[shape] = needed > 0
