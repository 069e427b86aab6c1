"""Why each job waits, asked second by second of nodes rebuilt from nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any


def split(
    jobs: list[dict[str, Any]],
    nodes: list[dict[str, Any]],
    attempts: list[dict[str, Any]],
    limits: dict[str, dict[str, int]],
    absences: list[tuple[int, float, float]] = [],  # noqa: B006
) -> tuple[list[dict[str, float]], dict[int | None, float]]:
    """Return seconds by cause for each job, and seconds blamed on each job.

    An attempt is a dictionary: job, ready, start, end, rank, used (node and GPUs per instance).
    """
    waits: list[dict[str, float]] = [{} for _ in jobs]
    blame: dict[int | None, float] = {}
    times = {attempt[when] for attempt in attempts for when in ("ready", "start", "end")}
    times |= {time for _, begin, end in absences for time in (begin, end)}
    instants = sorted(times)
    for now, then in pairwise(instants):
        running = [a for a in attempts if a["start"] <= now < a["end"]]
        waiting = [a for a in attempts if a["ready"] <= now < a["start"]]
        there = state_of(jobs, nodes, running)
        gone = {node for node, begin, end in absences if begin <= now < end}
        free = [node for number, node in enumerate(there) if number not in gone]
        causes = [cause_of(jobs[a["job"]], free, jobs, running, limits) for a in waiting]
        unfit = [a for a, c in zip(waiting, causes, strict=True) if c not in ("order", "quota")]
        blocker = min(unfit, key=lambda a: a["rank"])["job"] if unfit else None
        for attempt, cause in zip(waiting, causes, strict=True):
            mine = waits[attempt["job"]]
            mine[cause] = mine.get(cause, 0.0) + then - now
            if cause == "order":
                blame[blocker] = blame.get(blocker, 0.0) + then - now
    return waits, blame


def state_of(jobs: list[Any], nodes: list[Any], running: list[Any]) -> list[dict[str, Any]]:
    """Return the nodes with what runs there taken away."""
    free = [{**node, "shares": [1000] * node["gpus"]} for node in nodes]
    for attempt in running:
        job = jobs[attempt["job"]]
        for number, gpus in attempt["used"]:
            take(job, free[number], gpus)
    return free


def take(job: dict[str, Any], node: dict[str, Any], gpus: list[int]) -> None:
    node["cpu"] -= job["cpu"]
    node["memory"] -= job["memory"]
    for gpu in gpus:
        node["shares"][gpu] -= job["milli"]


def cause_of(
    job: dict[str, Any],
    free: list[dict[str, Any]],
    jobs: list[Any],
    running: list[Any],
    limits: dict[str, dict[str, int]],
) -> str:
    """Ask the questions in their order."""
    if over_limit(job, jobs, running, limits):
        return "quota"
    if instances_that_fit(job, free) == job["instances"]:
        return "order"
    able = [node for node in free if not job["types"] or node["type"] in job["types"]]
    whole = {
        "gpu": job["gpus"] * job["milli"] * job["instances"],
        "cpu": job["cpu"] * job["instances"],
        "memory": job["memory"] * job["instances"],
    }
    lacking = lacks(whole, free)
    lacking_here = lacks(whole, able)
    if job["gpus"] == 0:
        if lacking:
            return f"capacity {lacking[0]}"
        if lacking_here:
            return "gpu_type"
    else:
        if "gpu" in lacking:
            return "capacity gpu"
        if "gpu" in lacking_here:
            return "gpu_type"
        if lacking_here:
            return f"cpu_memory {lacking_here[0]}"
    if instances_that_fit(job, free) > 0:
        return "gang"
    if job["gpus"] == 0 or not instances_that_fit({**job, "cpu": 0, "memory": 0}, free):
        return "fragmentation"
    if not instances_that_fit({**job, "memory": 0}, free):
        return "cpu_memory cpu"
    return "cpu_memory memory"


def lacks(whole: dict[str, int], nodes: list[dict[str, Any]]) -> list[str]:
    """Name the resources of which the nodes together have too little."""
    there = {
        "gpu": sum(sum(node["shares"]) for node in nodes),
        "cpu": sum(node["cpu"] for node in nodes),
        "memory": sum(node["memory"] for node in nodes),
    }
    return [name for name, need in whole.items() if there[name] < need]


def instances_that_fit(job: dict[str, Any], free: list[dict[str, Any]]) -> int:
    """Put instances on copies of the nodes, one after the other, while there is room."""
    copies = [{**node, "shares": list(node["shares"])} for node in free]
    placed = 0
    for node in copies:
        if job["types"] and node["type"] not in job["types"]:
            continue
        while placed < job["instances"]:
            gpus = [g for g, share in enumerate(node["shares"]) if share >= job["milli"]]
            if node["cpu"] < job["cpu"] or node["memory"] < job["memory"]:
                break
            if len(gpus) < job["gpus"]:
                break
            take(job, node, gpus[: job["gpus"]])
            placed += 1
    return placed


def over_limit(
    job: dict[str, Any], jobs: list[Any], running: list[Any], limits: dict[str, dict[str, int]]
) -> bool:
    """Tell whether the job's user holds so much that one more job breaks the limit."""
    limit = limits.get(job["user"], {})
    mine = [jobs[a["job"]] for a in running if jobs[a["job"]]["user"] == job["user"]]
    held = sum(j["gpus"] * j["milli"] * j["instances"] for j in mine)
    need = job["gpus"] * job["milli"] * job["instances"]
    too_many = len(mine) + 1 > limit.get("jobs", 1 << 60)
    return too_many or (need > 0 and held + need > limit.get("gpu", 1 << 60))
