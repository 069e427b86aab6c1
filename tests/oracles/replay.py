"""A replay anyone can follow: dictionaries, lists, and a walk over the whole queue."""

from __future__ import annotations

import copy
from typing import Any


def replay(
    jobs: list[dict[str, Any]],
    nodes: list[dict[str, Any]],
    *,
    rating: str = "first_fit",
    strict: bool = False,
    pooled: bool = False,
    fill: bool = False,
) -> list[float]:
    """Return the start of each job, which is a dictionary as in tests/sim/test_static_loop.py."""
    for node in nodes:
        node["free"] = {"cpu": node["cpu"], "memory": node["memory"]}
        node["shares"] = [1000] * node["gpus"]
    starts: list[float] = [float("nan")] * len(jobs)
    queue: list[int] = []
    running: list[tuple[float, int, list[tuple[int, list[int]]]]] = []
    arrivals = list(range(len(jobs)))
    while arrivals or running:
        instants = [end for end, _, _ in running]
        instants += [jobs[arrivals[0]]["submit"]] if arrivals else []
        now = min(instants)
        for end, job, used in [entry for entry in running if entry[0] <= now]:
            release(jobs[job], nodes, used, pooled)
            running.remove((end, job, used))
        while arrivals and jobs[arrivals[0]]["submit"] <= now:
            queue.append(arrivals.pop(0))
        for job in sorted(queue, key=lambda j: jobs[j]["rank"]):
            used = place(jobs[job], nodes, rating, pooled, fill)
            if used is not None:
                starts[job] = now
                queue.remove(job)
                running.append((now + jobs[job]["duration"], job, used))
            elif strict:
                break
    return starts


def place(
    job: dict[str, Any], nodes: list[dict[str, Any]], rating: str, pooled: bool, fill: bool
) -> list[tuple[int, list[int]]] | None:
    """Place all instances, or none."""
    used: list[tuple[int, list[int]]] = []
    last = None
    for _ in range(job["instances"]):
        if fill and last is not None and free_gpus(job, nodes[last], pooled) is not None:
            chosen = last
        else:
            able = [n for n, node in enumerate(nodes) if free_gpus(job, node, pooled) is not None]
            if not able:
                release(job, nodes, used, pooled)
                return None
            chosen = max(able, key=lambda n: (rate(job, nodes[n], rating), -n))
        gpus = free_gpus(job, nodes[chosen], pooled)
        assert gpus is not None
        nodes[chosen]["free"]["cpu"] -= job["cpu"]
        nodes[chosen]["free"]["memory"] -= job["memory"]
        occupy(job, nodes[chosen], gpus, pooled)
        used.append((chosen, gpus))
        last = chosen
    return used


def free_gpus(job: dict[str, Any], node: dict[str, Any], pooled: bool) -> list[int] | None:
    """Return the GPUs the instance would take, or None if it does not fit."""
    if node["free"]["cpu"] < job["cpu"] or node["free"]["memory"] < job["memory"]:
        return None
    if pooled:
        return [] if sum(node["shares"]) >= job["gpus"] * job["milli"] else None
    able = [g for g, share in enumerate(node["shares"]) if share >= job["milli"]]
    if len(able) < job["gpus"]:
        return None
    return sorted(able, key=lambda g: (node["shares"][g], g))[: job["gpus"]]


def occupy(job: dict[str, Any], node: dict[str, Any], gpus: list[int], pooled: bool) -> None:
    for gpu in gpus:
        node["shares"][gpu] -= job["milli"]
    if pooled and node["shares"]:
        node["shares"][0] -= job["gpus"] * job["milli"]


def release(
    job: dict[str, Any],
    nodes: list[dict[str, Any]],
    used: list[tuple[int, list[int]]],
    pooled: bool,
) -> None:
    for chosen, gpus in used:
        node = nodes[chosen]
        node["free"]["cpu"] += job["cpu"]
        node["free"]["memory"] += job["memory"]
        for gpu in gpus:
            node["shares"][gpu] += job["milli"]
        if pooled and node["shares"]:
            node["shares"][0] += job["gpus"] * job["milli"]


def rate(job: dict[str, Any], node: dict[str, Any], rating: str) -> float:
    if rating == "first_fit":
        return 0.0
    gpu_left = sum(node["shares"]) - job["gpus"] * job["milli"]
    cpu_left = node["free"]["cpu"] - job["cpu"]
    return -float(gpu_left) - cpu_left / (node["cpu"] + 1.0)


def replay_easy(
    jobs: list[dict[str, Any]], nodes: list[dict[str, Any]], *, rating: str = "first_fit"
) -> list[float]:
    """Return the start of each job when the first waiting job holds a reservation."""
    for node in nodes:
        node["free"] = {"cpu": node["cpu"], "memory": node["memory"]}
        node["shares"] = [1000] * node["gpus"]
    starts: list[float] = [float("nan")] * len(jobs)
    queue: list[int] = []
    running: list[tuple[float, float, int, list[tuple[int, list[int]]]]] = []
    arrivals = list(range(len(jobs)))
    while arrivals or running:
        instants = [end for end, _, _, _ in running]
        instants += [jobs[arrivals[0]]["submit"]] if arrivals else []
        now = min(instants)
        for entry in [entry for entry in running if entry[0] <= now]:
            release(jobs[entry[2]], nodes, entry[3], False)
            running.remove(entry)
        while arrivals and jobs[arrivals[0]]["submit"] <= now:
            queue.append(arrivals.pop(0))
        head, reserved, future = None, float("inf"), nodes
        for job in sorted(queue, key=lambda j: jobs[j]["rank"]):
            used = place(jobs[job], nodes, rating, False, False)
            if used is not None and head is not None:
                stays = now + jobs[job]["estimate"] > reserved
                if stays:
                    take_again(jobs[job], future, used)
                    if place(jobs[head], copy.deepcopy(future), "first_fit", False, False) is None:
                        release(jobs[job], future, used, False)
                        release(jobs[job], nodes, used, False)
                        used = None
            if used is not None:
                starts[job] = now
                queue.remove(job)
                end, believed = now + jobs[job]["duration"], now + jobs[job]["estimate"]
                running.append((end, believed, job, used))
            elif head is None:
                head = job
                reserved, future = reservation(jobs, head, nodes, running, now)
    return starts


def reservation(jobs, head, nodes, running, now):  # type: ignore[no-untyped-def]
    """Return when the job will fit if estimates hold, and the nodes at that instant."""
    future = copy.deepcopy(nodes)
    if place(jobs[head], copy.deepcopy(future), "first_fit", False, False) is not None:
        return now, future
    believed = [(max(entry[1], now), entry) for entry in running]
    for instant in sorted({end for end, _ in believed}):
        for end, entry in believed:
            if end == instant:
                release(jobs[entry[2]], future, entry[3], False)
        if place(jobs[head], copy.deepcopy(future), "first_fit", False, False) is not None:
            return instant, future
    return float("inf"), future


def take_again(job: dict[str, Any], nodes: list[dict[str, Any]], used) -> None:  # type: ignore[no-untyped-def]
    for chosen, gpus in used:
        nodes[chosen]["free"]["cpu"] -= job["cpu"]
        nodes[chosen]["free"]["memory"] -= job["memory"]
        occupy(job, nodes[chosen], gpus, False)
