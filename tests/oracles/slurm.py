"""A slow, obvious Slurm: every pass plans from nothing, every node is looked at.

Jobs are dictionaries: ``submit, duration, limit, cores, nodes, partition, key``; partitions map to
sets of nodes. Returns job -> (start, nodes).
"""

from __future__ import annotations

import math


def replay(jobs, cores, partitions, *, every, depth, resolution, tiers, window=86_400.0):
    """Replay jobs, given in order of submission, on nodes with so many cores."""
    state = _State(jobs, cores, partitions, tiers)
    origin = jobs[0]["submit"]
    now, arrived = origin, 0
    while True:
        while arrived < len(jobs) and jobs[arrived]["submit"] <= now:
            state.waiting.append(arrived)
            arrived += 1
        for job in [one for one in state.running if state.end(one) <= now]:
            state.running.remove(job)
        state.waiting.sort(key=lambda one: (-tiers[jobs[one]["partition"]], jobs[one]["key"], one))
        _main_pass(state, now)
        if state.waiting and now > origin and (now - origin) % every == 0:
            _backfill_pass(state, now, depth, resolution, window)
        coming = [state.end(one) for one in state.running]
        coming += [jobs[arrived]["submit"]] if arrived < len(jobs) else []
        if state.waiting:
            coming.append(origin + (math.floor((now - origin) / every) + 1) * every)
        if not coming:
            return state.started
        now = min(coming)


class _State:
    def __init__(self, jobs, cores, partitions, tiers):
        self.jobs, self.cores, self.partitions, self.tiers = jobs, cores, partitions, tiers
        self.waiting, self.running, self.started = [], [], {}

    def end(self, job):
        return self.started[job][0] + self.jobs[job]["duration"]

    def free(self, node, at, now):
        """Cores that are free on a node at an instant, if running jobs end as believed."""
        taken = 0
        for job in self.running:
            start, nodes = self.started[job]
            believed = max(start + self.jobs[job]["limit"], now + 1)
            if node in nodes and (at == now or believed > at):
                taken += self.jobs[job]["cores"]
        return self.cores[node] - taken

    def begin(self, job, now, nodes):
        self.started[job] = (now, tuple(nodes))
        self.running.append(job)
        self.waiting.remove(job)

    def choose(self, usable, wanted, now, at=None):
        """The run of neighbours that holds the job with the fewest free cores, else the largest."""
        found, usable = [], set(usable)
        while len(found) < wanted:
            runs, run = [], []
            for node in range(len(self.cores) + 1):
                if node in usable:
                    run.append(node)
                elif run:
                    runs.append(run)
                    run = []
            left = wanted - len(found)
            total = [
                sum(self.free(node, now if at is None else at, now) for node in run) for run in runs
            ]
            enough = [place for place, run in enumerate(runs) if len(run) >= left]
            if enough:
                best = min(enough, key=lambda place: total[place])
            else:
                best = max(range(len(runs)), key=lambda place: total[place])
            taken = runs[best][:left]
            found += taken
            usable -= set(taken)
        return found


def _main_pass(state, now):
    closed, held_up = set(), set()
    for job in list(state.waiting):
        one = state.jobs[job]
        if one["partition"] in held_up:
            continue
        usable = [
            node
            for node in state.partitions[one["partition"]]
            if node not in closed and state.free(node, now, now) >= one["cores"]
        ]
        if len(usable) >= one["nodes"]:
            state.begin(job, now, state.choose(usable, one["nodes"], now))
        else:
            held_up.add(one["partition"])
            closed |= set(state.partitions[one["partition"]])


def _backfill_pass(state, now, depth, resolution, window):
    plan = []
    for job in list(state.waiting)[:depth]:
        one, tried = state.jobs[job], now
        while tried <= now + window:
            start, nodes, later = _test(state, job, plan, tried, now)
            if start <= later and start < math.inf:
                clear = tried == start or not any(
                    set(nodes) & kept and start < end and start + one["limit"] > begin
                    for begin, end, kept in plan
                )
                if clear:
                    break
                later = start
            tried = later
        if tried > now + window or start > now + window:
            continue
        if start == now:
            state.begin(job, now, nodes)
            continue
        begin, end = start, start + one["limit"]
        if resolution:
            begin = max(now, math.floor(begin / resolution) * resolution)
            end = max(math.floor(end / resolution) * resolution, begin + resolution)
        plan.append((begin, end, set(nodes)))


def _test(state, job, plan, tried, now):
    """When a job starts on nodes kept for nobody, and when the next of the others is left."""
    one, usable, later = state.jobs[job], [], math.inf
    limit = one["limit"]
    for node in state.partitions[one["partition"]]:
        left = -math.inf
        for begin, end, _ in sorted((row for row in plan if node in row[2]), key=lambda x: x[0]):
            first = left == -math.inf
            if end > tried and begin <= (tried + limit if first else left):
                left = max(left, end)
        if left > -math.inf:
            later = min(later, left)
        else:
            usable.append(node)
    free = _with_room(state, usable, one, now, now)
    if len(free) >= one["nodes"]:
        return max(now, tried), state.choose(free, one["nodes"], now), later
    ends = sorted(
        state.started[other][0] + state.jobs[other]["limit"]
        for other in state.running
        if set(state.started[other][1]) & set(usable)
    )
    if ends:
        first, width = (math.floor(ends[0] / 30) + 1) * 30, 30
        while True:
            taken = [end for end in ends if end <= first + width]
            if taken:
                at = max(taken[-1], now + 1)
                free = _with_room(state, usable, one, at, now)
                if len(free) >= one["nodes"]:
                    return max(at, tried), state.choose(free, one["nodes"], now, at), later
            if len(taken) == len(ends):
                break
            width *= 2
    return math.inf, [], later


def _with_room(state, nodes, one, at, now):
    return [node for node in nodes if state.free(node, at, now) >= one["cores"]]
