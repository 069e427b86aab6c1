"""Nodes that come and go: outages, and an autoscaler that boots and stops nodes."""

from __future__ import annotations

import numpy as np
from numba import njit

from prophase.sim.kernels.dynamic.array_layout import (
    CHANGES,
    OFF,
    RULE_ELASTIC,
    RULE_IDLE,
    SWITCHES,
    WAITING,
)
from prophase.sim.kernels.dynamic.usage_and_quotas import within_quota
from prophase.sim.kernels.node_resources import occupy, room, tightest
from prophase.sim.signatures import ASK_GPUS, ASK_INSTANCES, ASK_MILLI, FREE_MEMORY

#: what an elastic node is doing
STOPPED, BOOTING, READY = range(3)


@njit(cache=True)
def switch(nodes, node, reasons_off, down, log, counts):
    """Count one more or one less reason for a node to be off, and make it so."""
    was = reasons_off[node]
    reasons_off[node] += 1 if down else -1
    if was == 0 and down:
        nodes[node, FREE_MEMORY] -= OFF
    elif was == 1 and not down:
        nodes[node, FREE_MEMORY] += OFF
    log[counts[CHANGES] % log.size] = node
    counts[CHANGES] += 1


@njit(cache=True)
def note_power(power_times, power, counts, now, node, on):
    """Write down that an elastic node is paid for from now on, or no longer."""
    power_times[counts[SWITCHES]] = now
    power[counts[SWITCHES], 0], power[counts[SWITCHES], 1] = node, on
    counts[SWITCHES] += 1


@njit(cache=True)
def next_idle(rules, nodes, elastic, busy, idle_since):
    """Return when the next elastic node will have been idle for long enough to stop."""
    soonest = np.inf
    for node in range(int(rules[RULE_ELASTIC]), nodes.shape[0]):
        if elastic[node] == READY and busy[node] == 0:
            soonest = min(soonest, idle_since[node] + rules[RULE_IDLE])
    return soonest


@njit(cache=True)
def nodes_counted_on(
    rules, nodes, scratch, asks, shape_of, quotas, quota_of, line, counts, elastic, reasons_off,
    wanted_nodes,
):  # fmt: skip
    """Mark the nodes that waiting jobs will run on once all that are needed have booted.

    Waiting jobs are packed in the order of the queue: on what is free of the nodes that are
    ready, then on those that are booting, then on stopped ones.
    """
    wanted_nodes[:] = False
    scratch[:, :] = nodes
    for node in range(int(rules[RULE_ELASTIC]), nodes.shape[0]):
        if elastic[node] != READY and reasons_off[node] == 1:
            scratch[node, FREE_MEMORY] += OFF
    # a shape that finds no room finds none later in this walk either
    full = np.zeros(asks.shape[0], np.bool_)
    for place in range(counts[WAITING]):
        shape = shape_of[line[place]]
        if full[shape] or not within_quota(quotas, quota_of, line[place], asks, shape):
            continue
        needed = asks[shape, ASK_INSTANCES]
        for stage in (READY, BOOTING, STOPPED):
            for node in range(nodes.shape[0]):
                if elastic[node] != stage:
                    continue
                while needed > 0 and room(scratch, node, asks, shape) > 0:
                    bits = tightest(scratch, node, asks[shape, ASK_GPUS], asks[shape, ASK_MILLI])
                    occupy(scratch, node, asks, shape, bits)
                    wanted_nodes[node] = True
                    needed -= 1
                if needed == 0:
                    break
            if needed == 0:
                break
        full[shape] = needed > 0
