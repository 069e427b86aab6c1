"""One pass over the line of waiting jobs: who starts now?"""

from __future__ import annotations

import numpy as np
from numba import njit

from prophase.sim.attempts import PREEMPTED
from prophase.sim.kernels.dynamic.array_layout import (
    CHANGES,
    CONSERVATIVE,
    EASY,
    FRUITLESS,
    KINDS,
    PASSES,
    ROWS,
    RULE_DEPTH,
    RULE_PER_USER,
    RULE_PREEMPT,
    RULE_RESORT,
    RULE_WINDOW,
    STRICT,
    WAITING,
)
from prophase.sim.kernels.dynamic.preemption import choose_victims
from prophase.sim.kernels.dynamic.reservations import (
    believed_ends,
    earliest,
    enter,
    enter_reservation,
    reserve,
    total_room,
)
from prophase.sim.kernels.dynamic.running_jobs import begin_attempt, stop_attempt
from prophase.sim.kernels.dynamic.usage_and_quotas import within_quota
from prophase.sim.kernels.dynamic.waiting_queue import find_keys, join_queue, sort_queue
from prophase.sim.kernels.gang_placement import ON_GPUS, ON_NODE, free_rows, place_gang
from prophase.sim.kernels.node_resources import give_back, occupy
from prophase.sim.signatures import (
    ASK_INSTANCES,
    JOB_BELIEVED,
    JOB_ESTIMATE,
    JOB_LEFT,
    JOB_OVERHEAD,
    JOB_REMAINING,
    JOB_USER,
)


@njit(cache=True)
def scheduling_pass(
    now, queue_rule, may_evict, fresh_keys, key, refresh, order_facts, score, choose_gpu, facts,
    fill, jobs, shape_of, rung_of, row_of, attempt_of, owners, quotas, quota_of, whole, nodes,
    scratch, sweep, seen, low, asks, placed, record, times, runners, runner_spot, tenants, slots,
    busy, idle_since, rules, speeds, pairs, due, heap, spot, line, keys, scores, winners, shapes,
    log, failed_at, unmoved_at, queued, user_seen, victims, plan_times, plan_events, planned,
    reserving, counts,
):  # fmt: skip
    """Start whoever may start now, first in the order first; return (started, evicted)."""
    find_keys(
        fresh_keys, key, refresh, order_facts, jobs, owners, rules, line, runners, keys, counts, now
    )
    sort_queue(line, keys, counts)
    counts[PASSES] += 1
    stamp = counts[PASSES]
    user_seen[:] = 0
    started = evicted = failed_kinds = 0
    head, reserved, ready = -1, np.inf, False
    plan_size, reservations, to_reserve = 0, 0, 0
    waiting, kept, place = counts[WAITING], 0, 0
    while place < waiting:
        job = line[place]
        place += 1
        line[kept] = job
        kept += 1
        shape = shape_of[job]
        if not within_quota(quotas, quota_of, job, asks, shape):
            continue
        if rules[RULE_PER_USER] > 0 and queue_rule >= EASY and head >= 0:
            user = int(jobs[job, JOB_USER])
            user_seen[user] += 1
            if user_seen[user] > rules[RULE_PER_USER]:
                continue
        first, instances = counts[ROWS], asks[shape, ASK_INSTANCES]
        fits_now = 0
        if failed_at[shape] != stamp:
            fits_now, counts[CHANGES] = place_gang(
                score, choose_gpu, facts, nodes, asks, shape, False, fill, scores, winners,
                shapes, log, counts[CHANGES], placed, first,
            )  # fmt: skip
            if fits_now == 0:
                failed_at[shape] = stamp
                failed_kinds += 1
        evicts = may_evict and rules[RULE_PREEMPT] != 0
        if fits_now == 0 and evicts and unmoved_at[shape] != stamp:
            count = choose_victims(
                keys[job], now, keys, jobs, runners, counts, rules, nodes, scratch, asks, shape,
                shape_of, row_of, placed, victims,
            )  # fmt: skip
            for victim in range(count):
                stop_attempt(
                    victims[victim], now, PREEMPTED, jobs, shape_of, row_of, attempt_of, owners,
                    quotas, quota_of, whole, nodes, asks, placed, record, times, runners,
                    runner_spot, tenants, slots, busy, idle_since, rules, speeds, pairs, due,
                    heap, spot, log, counts,
                )  # fmt: skip
                saved = jobs[victims[victim], JOB_REMAINING] < jobs[victims[victim], JOB_LEFT]
                counts[FRUITLESS] = 0 if saved else counts[FRUITLESS] + 1
                victims[victims.size - 1 - evicted] = victims[victim]
                evicted += 1
            if count == 0:
                unmoved_at[shape] = stamp
            else:
                # what they leave over may do for shapes that did not fit before
                counts[PASSES] += 1
                stamp = counts[PASSES]
                failed_kinds = 0
                fits_now, counts[CHANGES] = place_gang(
                    score, choose_gpu, facts, nodes, asks, shape, False, fill, scores, winners,
                    shapes, log, counts[CHANGES], placed, first,
                )  # fmt: skip
        length = jobs[job, JOB_OVERHEAD] + jobs[job, JOB_ESTIMATE]
        if fits_now and queue_rule == EASY and head >= 0:
            if not ready:
                # nobody has started since the head was found: its reservation is still due
                counts[CHANGES] = free_rows(
                    nodes, asks, shape, placed, first, instances, log, counts[CHANGES]
                )
                reserved = reserve(
                    nodes, scratch, asks, head, jobs, runners, counts, shape_of, row_of, placed,
                    now,
                )  # fmt: skip
                ready = True
                fits_now, counts[CHANGES] = place_gang(
                    score, choose_gpu, facts, nodes, asks, shape, False, fill, scores, winners,
                    shapes, log, counts[CHANGES], placed, first,
                )  # fmt: skip
            for row in range(first, first + instances):
                occupy(scratch, placed[row, ON_NODE], asks, shape, placed[row, ON_GPUS])
            stays = now + length > reserved
            if stays and total_room(scratch, asks, head) < asks[head, ASK_INSTANCES]:
                fits_now = 0
                counts[CHANGES] = free_rows(
                    nodes, asks, shape, placed, first, instances, log, counts[CHANGES]
                )
            if fits_now == 0 or not stays:
                for row in range(first, first + instances):
                    give_back(scratch, placed[row, ON_NODE], asks, shape, placed[row, ON_GPUS])
        if fits_now and queue_rule == CONSERVATIVE and (to_reserve > 0 or reservations > 0):
            counts[CHANGES] = free_rows(
                nodes, asks, shape, placed, first, instances, log, counts[CHANGES]
            )
            if not ready:
                plan_size = believed_ends(
                    jobs, runners, counts, asks, shape_of, row_of, placed, now, plan_times,
                    plan_events,
                )  # fmt: skip
                ready = True
            reserving[to_reserve] = job
            at_once = False
            for turn in range(to_reserve + 1):
                other = reserving[turn]
                kind = shape_of[other]
                span = jobs[other, JOB_OVERHEAD] + jobs[other, JOB_ESTIMATE]
                instant, at_once = earliest(
                    score, choose_gpu, facts, fill, nodes, sweep, seen, low, asks, kind, span,
                    now, rules[RULE_WINDOW], plan_times, plan_events, plan_size, planned,
                )  # fmt: skip
                if other == job and at_once:
                    break
                at_once = False
                if reservations >= rules[RULE_DEPTH]:
                    continue
                reservations += 1
                if instant < np.inf:
                    plan_size = enter_reservation(
                        plan_times, plan_events, plan_size, now, instant, instant + span, kind,
                        planned, asks[kind, ASK_INSTANCES], rules,
                    )  # fmt: skip
            to_reserve = 0
            fits_now = 1 if at_once else 0
            for row in range(instances if at_once else 0):
                node, bits = planned[row, ON_NODE], planned[row, ON_GPUS]
                occupy(nodes, node, asks, shape, bits)
                placed[first + row, ON_NODE], placed[first + row, ON_GPUS] = node, bits
                log[counts[CHANGES] % log.size] = node
                counts[CHANGES] += 1
        elif (
            not fits_now
            and queue_rule == CONSERVATIVE
            and reservations + to_reserve < rules[RULE_DEPTH]
        ):
            reserving[to_reserve] = job
            to_reserve += 1
        if fits_now:
            begin_attempt(
                job, now, jobs, shape_of, rung_of, row_of, attempt_of, owners, quotas, quota_of,
                whole, nodes, asks, placed, record, times, runners, runner_spot, tenants, slots,
                busy, rules, speeds, pairs, due, heap, spot, counts,
            )  # fmt: skip
            if queue_rule == CONSERVATIVE and ready:
                for row in range(first, first + instances):
                    plan_size = enter(
                        plan_times, plan_events, plan_size, jobs[job, JOB_BELIEVED], 1,
                        placed[row, ON_NODE], shape, placed[row, ON_GPUS],
                    )  # fmt: skip
            started += 1
            kept -= 1
            queued[shape] -= 1
            if queued[shape] == 0:
                counts[KINDS] -= 1
            if rules[RULE_RESORT] != 0:
                # keys have moved with this start: order those left, and begin again
                for rest in range(place, waiting):
                    line[kept] = line[rest]
                    kept += 1
                waiting = kept
                counts[WAITING] = kept
                find_keys(
                    True, key, refresh, order_facts, jobs, owners, rules, line, runners, keys,
                    counts, now,
                )  # fmt: skip
                sort_queue(line, keys, counts)
                place = kept = 0
                user_seen[:] = 0
                if rules[RULE_PREEMPT] != 0:
                    unmoved_at[:] = -1
            continue
        if queue_rule == STRICT:
            break
        if head < 0:
            head = shape
            user_seen[int(jobs[job, JOB_USER])] += 1
        if failed_kinds >= counts[KINDS] and not evicts:
            break
    while place < waiting:
        line[kept] = line[place]
        kept += 1
        place += 1
    counts[WAITING] = kept
    for victim in range(evicted):
        last = victims[victims.size - 1 - victim]
        join_queue(line, keys, rules, queued, shape_of, last, counts)
    return started, evicted
