"""When and where a job could start, beside running jobs, reservations and the plan."""

from __future__ import annotations

import numpy as np

from prophase.sim.compilation import njit
from prophase.sim.kernels.slurm.array_layout import (
    ASK_NODES,
    ASK_RESERVATION,
    BACKFILLS,
    CORES,
    PLANNED,
)
from prophase.sim.kernels.slurm.limits import within_limits
from prophase.sim.kernels.slurm.node_choice import choose_nodes
from prophase.sim.kernels.slurm.node_readiness import has_room, update_ready
from prophase.sim.signatures import (
    ASK_CPU,
    ASK_INSTANCES,
    JOB_BELIEVED,
    JOB_ESTIMATE,
    JOB_OVERHEAD,
    LOOP,
)

#: a job that should have ended is believed to end so many seconds from now
_SOON_S = 1.0
#: running jobs whose ends lie within so many seconds are looked at together, at first
_WINDOW_S = 30.0
#: beyond so many nodes that are planned, jobs are planned for when they could start at the
#: earliest: that is much faster, and what is planned so late holds up hardly anybody now
_DEEP = 32


@njit(**LOOP)
def believed_length(table, job):
    """Return how long the scheduler believes a job will run."""
    return table[job, JOB_OVERHEAD] + table[job, JOB_ESTIMATE]


@njit(**LOOP)
def _clear_from(node, instant, length, reservation, nodes, plan, planned):
    """Return the first instant from which a node is not reserved for others for so long."""
    reserves = nodes.reserved_first[node + 1] > nodes.reserved_first[node]
    moved = True
    while moved:
        moved = False
        for row in range(nodes.reserved_first[node], nodes.reserved_first[node + 1]):
            if (
                nodes.reserved_name[row] != reservation
                and instant < nodes.reserved_end[row]
                and instant + length > nodes.reserved_begin[row]
            ):
                instant, moved = nodes.reserved_end[row], True
        if planned and plan.number[node] > 0 and instant < plan.closes_s[node]:
            # in order of their begins: one walk finds the first gap
            row = plan.first_on[node]
            while row >= 0 and plan.begin_s[row] < instant + length:
                if instant < plan.end_s[row]:
                    instant, moved = plan.end_s[row], reserves
                row = plan.after[row]
    return instant


@njit(**LOOP)
def is_clear(node, now, length, job, jobs, nodes, plan, planned):
    """Tell whether a node is not reserved for others from now on for so long."""
    reservation = jobs.asks[jobs.shape_of[job], ASK_RESERVATION]
    return _clear_from(node, now, length, reservation, nodes, plan, planned) == now


@njit(**LOOP)
def _kth_smallest(values, count, k):
    """Return the k-th smallest (from 1) of the first values, which are moved about."""
    low, high, want = 0, count - 1, k - 1
    while low < high:
        pivot = values[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if want <= right:
            high = right
        elif want >= left:
            low = left
        else:
            break
    return values[want]


@njit(**LOOP)
def _fill_free(job, now, instant, length, jobs, nodes, plan):
    """Fill ``free_s`` with when each node could take the job, from an instant on.

    Returns how many can at that instant, how many can at all, and when the first can.
    """
    shape = jobs.shape_of[job]
    row, reservation = plan.ready_of[shape], jobs.asks[shape, ASK_RESERVATION]
    at_instant, able, least = 0, 0, np.inf
    reserves = nodes.reserved_begin.size > 0
    for node in range(plan.free_s.size):
        free = plan.ready_s[row, node]
        if free == np.inf:
            plan.free_s[node] = np.inf
            continue
        if free > -np.inf:
            free = max(free, now + _SOON_S)
        free = max(free, instant)
        if reserves and nodes.reserved_first[node + 1] > nodes.reserved_first[node]:
            free = _clear_from(node, free, length, reservation, nodes, plan, True)
        elif (
            plan.number[node] > 0
            and free < plan.closes_s[node]
            and free + length > plan.opens_s[node]
        ):
            if plan.number[node] == 1:
                free = plan.closes_s[node]
            else:
                free = _clear_from(node, free, length, reservation, nodes, plan, True)
        plan.free_s[node] = free
        plan.sorted_s[able] = free
        able += 1
        at_instant += free == instant
        least = min(least, free)
    return at_instant, able, least


@njit(**LOOP)
def _fill_now(shape, now, length, jobs, nodes, plan):
    """Fill ``free_s`` with now for nodes that could take the shape at once; return how many."""
    allowed, reservation, found = jobs.asks[shape, ASK_NODES], jobs.asks[shape, ASK_RESERVATION], 0
    for node in range(plan.free_s.size):
        plan.free_s[node] = np.inf
        if (
            plan.closed[node]
            or not has_room(nodes.free, node, jobs.asks, shape)
            or nodes.allowed[allowed, node] == 0
        ):
            continue
        if nodes.reserved_first[node + 1] > nodes.reserved_first[node] and (
            _clear_from(node, now, length, reservation, nodes, plan, False) > now
        ):
            continue
        plan.free_s[node], plan.cores[node] = now, nodes.free[node, CORES]
        found += 1
    return found


@njit(**LOOP)
def start_now(job, now, jobs, nodes, plan, rules):
    """Choose nodes for a job if it can start now, without a plan; tell whether it can."""
    shape = jobs.shape_of[job]
    length, wanted = believed_length(jobs.table, job), jobs.asks[shape, ASK_INSTANCES]
    reservation = jobs.asks[shape, ASK_RESERVATION]
    if reservation >= 0 and not nodes.opens_s[reservation] <= now < nodes.closes_s[reservation]:
        return False
    free = _fill_now(shape, now, length, jobs, nodes, plan)
    return free >= wanted and choose_nodes(now, wanted, nodes, plan, rules) == wanted


@njit(**LOOP)
def may_start_now(job, now, jobs, owners, nodes, plan):
    """Tell whether a job could start now beside the plan as it is so far."""
    shape = jobs.shape_of[job]
    length, lacking = believed_length(jobs.table, job), jobs.asks[shape, ASK_INSTANCES]
    allowed, reservation = jobs.asks[shape, ASK_NODES], jobs.asks[shape, ASK_RESERVATION]
    if reservation >= 0 and nodes.opens_s[reservation] > now:
        return False
    reserves = nodes.reserved_begin.size > 0
    for node in range(plan.free_s.size):
        if not has_room(nodes.free, node, jobs.asks, shape) or nodes.allowed[allowed, node] == 0:
            continue
        if (reserves or plan.number[node] > 0) and (
            _clear_from(node, now, length, reservation, nodes, plan, True) > now
        ):
            continue
        lacking -= 1
        if lacking == 0:
            return within_limits(job, jobs, owners)
    return False


@njit(**LOOP)
def _given_back(node, instant, length, reservation, nodes, plan):
    """Return when a node that is kept for others, now or within so long, is given back.

    Minus infinity: it is kept for nobody. Unlike elsewhere, who begins at the very end counts.
    """
    back = np.inf
    for row in range(nodes.reserved_first[node], nodes.reserved_first[node + 1]):
        if (
            nodes.reserved_name[row] != reservation
            and instant < nodes.reserved_end[row]
            and instant + length > nodes.reserved_begin[row]
        ):
            back = min(back, nodes.reserved_end[row])
    planned = -np.inf
    if plan.number[node] > 0 and instant < plan.closes_s[node]:
        row = plan.first_on[node]
        while row >= 0 and plan.begin_s[row] <= max(planned, instant + length):
            if instant < plan.end_s[row] and (planned == -np.inf or plan.begin_s[row] <= planned):
                # one after the other without a gap is one stretch
                planned = max(planned, plan.end_s[row])
            row = plan.after[row]
    return min(back, planned) if planned > -np.inf else back if back < np.inf else -np.inf


@njit(**LOOP)
def _fill_beside(job, now, tried, length, jobs, nodes, plan):
    """Fill ``free_s`` with when running jobs leave room on nodes that are not kept for others.

    Returns how many nodes there are, when the first of the others is given back, and when the
    first of them has room.
    """
    shape = jobs.shape_of[job]
    row, reservation = plan.ready_of[shape], jobs.asks[shape, ASK_RESERVATION]
    able, later, least = 0, np.inf, np.inf
    reserves = nodes.reserved_begin.size > 0
    for node in range(plan.free_s.size):
        free = plan.ready_s[row, node]
        plan.free_s[node] = np.inf
        if free == np.inf:
            continue
        if reserves or plan.number[node] > 0:
            back = _given_back(node, tried, length, reservation, nodes, plan)
            if back > -np.inf:
                later = min(later, back)
                continue
        free = now if free == -np.inf else max(free, now + _SOON_S)
        plan.free_s[node] = plan.sorted_s[able] = free
        least = min(least, free)
        able += 1
    return able, later, least


@njit(**LOOP)
def _end_of_window(instant, jobs, running, plan, rules):
    """Return when the last job ends of those whose ends are looked at together with this one.

    Slurm takes running jobs away in windows of 30 s, 60 s, 120 s ... after the first end, tries
    after each, and takes the end of the last job that it took away.
    """
    first = np.inf
    for node in range(plan.free_s.size):
        if plan.free_s[node] < np.inf:
            first = min(first, running.first_end_s[node])
    width = _WINDOW_S
    begins = (np.floor(first / _WINDOW_S) + 1.0) * _WINDOW_S
    while begins + width < instant:
        width = width + rules.window_linear_s if rules.window_linear_s > 0 else 2.0 * width
    last, bound = instant, begins + width
    for node in range(plan.free_s.size):
        if (
            plan.free_s[node] == np.inf
            or running.last_end_s[node] <= last
            or running.first_end_s[node] > bound
        ):
            continue
        row = running.first_on[node]
        while row >= 0:
            believed = jobs.table[running.job_at[row], JOB_BELIEVED]
            if last < believed <= bound:
                last = believed
            row = running.after[row]
    return last


@njit(**LOOP)
def _cores_at(node, now, instant, jobs, nodes, running):
    """Return how many cores are free on a node at an instant, if running jobs end as believed."""
    cores = nodes.free[node, CORES]
    row = running.first_on[node] if instant > now else -1
    while row >= 0:
        job = running.job_at[row]
        if jobs.table[job, JOB_BELIEVED] <= instant:
            cores += jobs.asks[jobs.shape_of[job], ASK_CPU]
        row = running.after[row]
    return cores


@njit(**LOOP)
def _last_given_back(now, instant, plan, counts):
    """Return the last instant by then at which a planned job gives nodes back, or now."""
    last = now
    for row in range(counts[PLANNED]):
        if last < plan.end_s[row] <= instant:
            last = plan.end_s[row]
    return last


@njit(**LOOP)
def _could_start(job, now, since, length, jobs, nodes, plan, rules):
    """Find when a job fits beside the plan at the earliest; infinity: not within the window.

    ``free_s`` then holds when each node could take it.
    """
    shape = jobs.shape_of[job]
    wanted = jobs.asks[shape, ASK_INSTANCES]
    reservation, instant = jobs.asks[shape, ASK_RESERVATION], since
    if reservation >= 0:
        instant = max(since, nodes.opens_s[reservation])
    while instant <= now + rules.window_s:
        free, able, least = _fill_free(job, now, instant, length, jobs, nodes, plan)
        if free >= wanted:
            break
        if able < wanted:
            return np.inf
        if wanted == 1:
            # the first node that is free, is free then
            return least
        instant = _kth_smallest(plan.sorted_s, able, wanted)
    return instant


@njit(**LOOP)
def _first_tried(job, now, length, jobs, nodes, plan, rules, counts):
    """Return the first instant that is worth a trial; infinity: none within the window.

    Within a pass the plan only grows: a job that asks for the same, or more, starts no earlier
    than the one before. Of others, what is tried before they could start at all is left out.
    """
    shape = jobs.shape_of[job]
    if plan.bound_pass[shape] == counts[BACKFILLS] and length >= plan.bound_length[shape]:
        return plan.bound_s[shape]
    tried = _could_start(job, now, now, length, jobs, nodes, plan, rules)
    if tried > now + rules.window_s:
        return np.inf
    tried = _last_given_back(now, tried, plan, counts)
    reservation = jobs.asks[shape, ASK_RESERVATION]
    return tried if reservation < 0 else max(tried, nodes.opens_s[reservation])


@njit(**LOOP)
def _earliest_of_all(job, now, length, jobs, nodes, plan, rules, counts):
    """Find when a job could start at the earliest, and choose its nodes."""
    shape, since = jobs.shape_of[job], now
    if plan.bound_pass[shape] == counts[BACKFILLS] and length >= plan.bound_length[shape]:
        since = max(now, plan.bound_s[shape])
    instant = np.inf
    if since < np.inf:
        instant = _could_start(job, now, since, length, jobs, nodes, plan, rules)
    reservation = jobs.asks[shape, ASK_RESERVATION]
    if instant > now + rules.window_s or (
        reservation >= 0 and instant >= nodes.closes_s[reservation]
    ):
        instant = np.inf
    plan.bound_pass[shape] = counts[BACKFILLS]
    plan.bound_s[shape], plan.bound_length[shape] = instant, length
    if instant < np.inf:
        for node in range(plan.free_s.size):
            plan.cores[node] = nodes.free[node, CORES]
        choose_nodes(instant, jobs.asks[shape, ASK_INSTANCES], nodes, plan, rules)
    return instant


@njit(**LOOP)
def earliest(job, now, jobs, nodes, running, plan, rules, counts):
    """Find when Slurm believes a job to start, and choose its nodes; infinity: not in the window.

    It tries nodes that are kept for nobody, first from now on, then whenever planned jobs give
    some back.
    """
    shape = jobs.shape_of[job]
    update_ready(shape, jobs, nodes, running, plan, counts)
    length, wanted = believed_length(jobs.table, job), jobs.asks[shape, ASK_INSTANCES]
    reservation, latest = jobs.asks[shape, ASK_RESERVATION], now + rules.window_s
    if counts[PLANNED] >= _DEEP:
        return _earliest_of_all(job, now, length, jobs, nodes, plan, rules, counts)
    tried, found = _first_tried(job, now, length, jobs, nodes, plan, rules, counts), np.inf
    while tried <= latest:
        able, later, room_s = _fill_beside(job, now, tried, length, jobs, nodes, plan)
        instant = np.inf
        if able >= wanted:
            if wanted > 1:
                room_s = _kth_smallest(plan.sorted_s, able, wanted)
            if room_s > now:
                room_s = _end_of_window(room_s, jobs, running, plan, rules)
            instant = max(room_s, tried)
        if instant > later:
            tried = later
            continue
        if instant > latest or (reservation >= 0 and instant >= nodes.closes_s[reservation]):
            break
        for node in range(plan.free_s.size):
            is_free = plan.free_s[node] <= room_s
            plan.free_s[node] = instant if is_free else np.inf
            if is_free:
                plan.cores[node] = _cores_at(node, now, room_s, jobs, nodes, running)
        choose_nodes(instant, wanted, nodes, plan, rules)
        if tried == instant or _are_clear(wanted, instant, length, job, jobs, nodes, plan):
            found = instant
            break
        tried = instant
    plan.bound_pass[shape] = counts[BACKFILLS]
    plan.bound_s[shape], plan.bound_length[shape] = tried if found < np.inf else np.inf, length
    return found


@njit(**LOOP)
def _are_clear(wanted, instant, length, job, jobs, nodes, plan):
    """Tell whether the chosen nodes are kept for nobody from an instant on."""
    for place in range(wanted):
        if not is_clear(plan.chosen[place], instant, length, job, jobs, nodes, plan, True):
            return False
    return True


@njit(**LOOP)
def plan_start(job, now, instant, jobs, plan, rules, counts):
    """Keep the chosen nodes for a job, whole, from an instant on."""
    begin, end = instant, instant + believed_length(jobs.table, job)
    step = rules.resolution_s
    if step > 0:
        begin = max(now, np.floor(begin / step) * step)
        end = max(np.floor(end / step) * step, begin + step)
    for place in range(jobs.asks[jobs.shape_of[job], ASK_INSTANCES]):
        node, row = plan.chosen[place], counts[PLANNED]
        plan.begin_s[row], plan.end_s[row] = begin, end
        if plan.number[node] == 0:
            plan.first_on[node], plan.opens_s[node], plan.closes_s[node] = -1, begin, end
        before, later = -1, plan.first_on[node]
        while later >= 0 and plan.begin_s[later] < begin:
            before, later = later, plan.after[later]
        plan.after[row] = later
        if before < 0:
            plan.first_on[node] = row
        else:
            plan.after[before] = row
        plan.number[node] += 1
        plan.opens_s[node] = min(plan.opens_s[node], begin)
        plan.closes_s[node] = max(plan.closes_s[node], end)
        counts[PLANNED] += 1
