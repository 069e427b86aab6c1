"""The openb experiments as their text describes them: every node, every class, in order.

Numbers are added in the order of the published runs: shares as count / pods / (covered / pods),
fragmentation per category over classes in list order, then Q1, Q2, Q4, XL, XR, NA.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, order=True)
class Pod:
    """What a pod asks for; memory is no part of its class."""

    cpu: int
    milli: int
    num: int
    spec: str
    memory: int = field(default=0, compare=False)

    def allowed(self, kind: str) -> bool:
        """Tell whether the pod may run on a type of GPU."""
        return self.spec == "" or kind in self.spec.split("|")


@dataclass(frozen=True)
class Node:
    """What a node has free."""

    kind: str
    cpu: int
    memory: int
    shares: tuple[int, ...]
    #: pods by kind: shared, 1 GPU, 2 GPUs ...
    held: tuple[str, ...] = ()

    def fits(self, pod: Pod) -> bool:
        """Tell whether a pod could run here now."""
        able = sum(share >= pod.milli for share in self.shares) if pod.num else 0
        return (
            self.cpu >= pod.cpu
            and self.memory >= pod.memory
            and (pod.num == 0 or (able >= pod.num and pod.allowed(self.kind)))
        )

    def without(self, pod: Pod, gpus: list[int]) -> Node:
        """Return what is left when a pod runs on some of the GPUs."""
        shares = tuple(s - pod.milli if i in gpus else s for i, s in enumerate(self.shares))
        held = (*self.held, kind_of(pod)) if pod.num else self.held
        return replace(
            self, cpu=self.cpu - pod.cpu, memory=self.memory - pod.memory, shares=shares, held=held
        )


def kind_of(pod: Pod) -> str:
    """Return whether a pod shares a GPU, or how many it has."""
    return "shared" if pod.milli < 1000 else str(pod.num)


def classes_of(pods: list[Pod]) -> list[tuple[Pod, float]]:
    """Return the typical classes and their shares."""
    falling = sorted(Counter(pods).items(), key=lambda one: (one[1], one[0]), reverse=True)
    total, covered, kept = len(pods), 0, []
    for pod, count in falling:
        if covered >= 95 * total / 100:
            break
        covered += count
        kept.append((pod, count / total))
    if len(kept) < len(falling):
        kept = [(pod, share / (covered / total)) for pod, share in kept]
    return kept


def fragmentation(node: Node, classes: list[tuple[Pod, float]]) -> float:
    """Return the idle milli-GPUs that the classes cannot use."""
    sums = dict.fromkeys(("Q1", "Q2", "Q4", "XL", "XR", "NA"), 0.0)
    idle = sum(node.shares)
    for pod, share in classes:
        has_cpu = node.cpu >= pod.cpu
        if pod.num == 0:
            sums["XL" if has_cpu else "XR"] += share * idle
        elif not pod.allowed(node.kind):
            sums["NA"] += share * idle
        elif sum(s >= pod.milli for s in node.shares) < pod.num:
            sums["Q2" if has_cpu else "Q1"] += share * idle
        elif not has_cpu:
            sums["Q4"] += share * idle
        else:
            sums["Q2"] += share * sum(s for s in node.shares if s < pod.milli)
    total = 0.0
    for amount in sums.values():
        total += amount
    return total


def rate(place: str, node: Node, pod: Pod, classes: list[tuple[Pod, float]]) -> tuple[int, int]:
    """Return a node's score, and the GPU that a pod which shares one would get."""
    g, idle = pod.milli * pod.num, sum(node.shares)
    fitting = [gpu for gpu, share in enumerate(node.shares) if share >= pod.milli]
    tightest = min(fitting, key=lambda gpu: (node.shares[gpu], gpu)) if pod.num else -1
    if place == "fgd":
        before = fragmentation(node, classes)
        sets = [[gpu] for gpu in fitting] if pod.num == 1 else [fitting[: pod.num]]
        if pod.milli == 1000 and pod.num == 1:
            sets = sets[:1]
        best = (-1, -1)
        for gpus in sets:
            drop = before - fragmentation(node.without(pod, gpus), classes)
            score = math.floor(100 / (1 + math.exp(-drop / 1000)))
            if score > best[0]:
                best = (score, gpus[0] if gpus else -1)
        return best
    if place == "best_fit":
        cpu_left, gpu_left = (node.cpu - pod.cpu) / 128000, (idle - g) / 8000
        return math.floor(100 * (1 - (0.5 * cpu_left + 0.5 * gpu_left))), tightest
    if place == "dot_product":
        alike = node.cpu / 128000 * pod.cpu / 128000 + idle / 8000 * g / 8000
        return math.floor(100 * (1 - 0.5 * alike)), tightest
    if pod.num == 0:
        return 0, -1
    if place == "gpu_clustering":
        score = 25 * (8000 - idle) // 8000
        if not node.held:
            return score + 25, tightest
        if set(node.held) == {kind_of(pod)}:
            return score + 75, tightest
        return score + (50 if kind_of(pod) in node.held else 0), tightest
    if all(share == 1000 for share in node.shares):
        return max(33 - len(node.shares), len(node.shares)), tightest
    filled = sorted(fitting, key=lambda gpu: (node.shares[gpu], gpu))[: pod.num]
    whole = sum(node.shares[gpu] == 1000 for gpu in filled)
    if whole:
        return max(50 - whole, 33), tightest
    free_pct = sum(node.shares[gpu] / 10 for gpu in filled)
    return max(100 - math.floor(free_pct / 10), 50), tightest


def replay(
    nodes: list[Node], pods: list[Pod], arrivals: list[int], place: str
) -> list[dict[str, Any]]:
    """Place pods one by one; return after each its node (-1: dropped), GPUs, what is fragmented.

    Nodes are in the order of their ranks.
    """
    classes, now, rows = classes_of(pods), list(nodes), []
    frag = [fragmentation(node, classes) for node in now]
    # nodes are rated for a pod when it first comes, and again when they have changed since
    rated: dict[tuple[Pod, int], tuple[list[tuple[int, int]], int]] = {}
    changed: list[int] = []
    for row in arrivals:
        pod = pods[row]
        rates, seen = rated.get((pod, pod.memory), ([(-1, -1)] * len(now), -1))
        for number in range(len(now)) if seen < 0 else set(changed[seen:]):
            fits = now[number].fits(pod)
            rates[number] = rate(place, now[number], pod, classes) if fits else (-1, -1)
        rated[pod, pod.memory] = rates, len(changed)
        chosen = max(range(len(now)), key=lambda number: (rates[number][0], -number))
        chosen, gpus = (chosen if rates[chosen][0] >= 0 else -1), []
        if chosen >= 0:
            gpus = [gpu for gpu, share in enumerate(now[chosen].shares) if share >= pod.milli]
            gpus = gpus[: pod.num]
            if pod.num == 1 and pod.milli < 1000:
                gpus = [rates[chosen][1]]
            now[chosen] = now[chosen].without(pod, gpus)
            frag[chosen] = fragmentation(now[chosen], classes)
            changed.append(chosen)
        rows.append({"node": chosen, "gpus": gpus, "fragmented": sum(frag)})
    return rows
