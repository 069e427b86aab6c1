"""Fragmentation anyone can follow: look at every node at every instant, class by class."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any


def typical(requests: list[tuple[int, int, int, tuple[str, ...]]]) -> dict[Any, float]:
    """Return the commonest requests until 95 % are covered, with their shares.

    Among equals the larger comes first: by CPU, milli, GPUs, types from the last name on.
    """
    counted = sorted(
        Counter(requests).items(), key=lambda pair: (pair[1], *pair[0][:3], pair[0][3][::-1])
    )[::-1]
    kept: dict[Any, int] = {}
    for request, count in counted:
        if sum(kept.values()) >= 0.95 * len(requests):
            break
        kept[request] = count
    return {request: count / sum(kept.values()) for request, count in kept.items()}


def fragmented(free_cpu: int, shares: list[int], kind: str, classes: dict[Any, float]) -> float:
    """Return the milli-GPUs of one node that classes (cpu, milli, gpus, types) cannot use."""
    total = 0.0
    for (cpu, milli, gpus, kinds), weight in classes.items():
        able = [share for share in shares if share >= milli]
        barred = bool(kinds) and kind not in kinds
        if gpus == 0 or barred or free_cpu < cpu or len(able) < gpus:
            total += weight * sum(shares)
        else:
            total += weight * sum(share for share in shares if share < milli)
    return total


def mean_fragmented(
    nodes: list[dict[str, Any]],
    instances: list[dict[str, Any]],
    classes: dict[Any, float],
    begin: float,
    end: float,
) -> float:
    """Return the fragmented GPUs averaged over time; every start and end is an instant."""
    inside = {t for one in instances for t in (one["start"], one["end"]) if begin < t < end}
    instants = sorted({begin, end} | inside)
    total = 0.0
    for now, then in pairwise(instants):
        for number, node in enumerate(nodes):
            here = [
                one
                for one in instances
                if one["node"] == number and one["start"] <= now < one["end"]
            ]
            free_cpu = node["cpu"] - sum(one["cpu"] for one in here)
            shares = [
                1000 - sum(one["milli"] for one in here if gpu in one["gpus"])
                for gpu in range(node["gpus"])
            ]
            total += (then - now) * fragmented(free_cpu, shares, node["kind"], classes)
    return total / 1000 / (end - begin)
