"""The smallest cluster that keeps a promise, such as: p95 wait < 15 min."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache

import numpy as np

from prophase import units
from prophase.errors import ParameterError
from prophase.sim.cluster_variants import scaled
from prophase.sim.request_variants import highest_of
from prophase.sim.schedule import Schedule
from prophase.sim.signatures import Floats
from prophase.sim.simulation import simulate
from prophase.sim.sweep.dry_run import unfit_jobs
from prophase.sim.sweep.resampled_traces import (
    AS_RECORDED,
    DrawnBlocks,
    Resampler,
    blocks_for,
    interval_of_resamples,
    require_blocks,
)
from prophase.sim.whatif.comparison import drawing
from prophase.sim.whatif.scenarios import WhatIfScenario
from prophase.stats import Estimate
from prophase.workers import run_all

_TARGET = re.compile(
    r"\s*(?:(mean|median|max)|p(\d{1,2}(?:\.\d+)?))[\s_]+(wait|jct)\s*<=?\s*"
    r"(.+)",
    re.IGNORECASE,
)
#: a cluster this many times the first one is the largest that is tried
_LARGEST = 64
#: sizes above the answer that have to reach the target as well
_NEXT = 3


@dataclass(frozen=True)
class WaitTarget:
    """A percentile (None: the mean) of waits or completion times that stays below a limit."""

    text: str
    percentile: float | None
    of: str
    limit_s: float

    def value_s(self, schedule: Schedule) -> float:
        """Return what the target speaks of, in seconds."""
        return self.statistic(schedule.wait_s if self.of == "wait" else schedule.jct_s)

    def statistic(self, values: Floats) -> float:
        """Return the mean or the percentile of some times."""
        if self.percentile is None:
            return float(values.mean())
        return float(np.percentile(values, self.percentile))


@dataclass(frozen=True)
class SmallestCluster:
    """The fewest nodes that reach a target, on the trace and on each resampled trace.

    ``nodes`` and ``gpus`` are None, and ``why_not`` says why, if no size reaches it.
    """

    scenario: str
    nodes: int | None
    gpus: int | None
    value_s: float | None
    #: fewest nodes over resampled traces, and what reaches the target on every one of them
    nodes_interval: Estimate | None
    nodes_for_all_seeds: int | None
    gpus_for_all_seeds: int | None
    why_not: str = ""


def parse_wait_target(text: str) -> WaitTarget:
    """Read ``mean|median|max|pNN wait|jct < number unit``; units are s, min, h and d.

    ``p95_wait<15min`` is the same as ``p95 wait < 15 min``.

    Examples
    --------
    >>> parse_wait_target("p95 wait < 15 min").limit_s
    900.0
    """
    match = _TARGET.fullmatch(text)
    if match is None:
        raise ParameterError(
            f"target {text!r} is not understood. Write mean, median, max or pNN, then wait or "
            "jct, < and a time, such as 'p95 wait < 15 min' or 'mean jct < 2 h'."
        )
    limit = units.parse_duration(match[4], bare="s", where=f"target {text!r}", positive=True)
    words = {"mean": None, "median": 50.0, "max": 100.0}
    share = float(match[2]) if match[2] else words[match[1].lower()]
    # a bare number is seconds, and who meant minutes should see that
    said = text.strip() + " s" * match[4].strip().replace(".", "").isdigit()
    return WaitTarget(said, share, match[3].lower(), limit)


def smallest_clusters(
    scenarios: Sequence[WhatIfScenario],
    target: WaitTarget,
    *,
    seeds: int = 10,
    blocks: DrawnBlocks | None = None,
    workers: int | str = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[SmallestCluster]:
    """Find for each scenario the fewest nodes, kinds in its proportions, that reach a target.

    The search doubles or halves the cluster until the target lies between two sizes, then
    halves the gap, and goes on until the three next sizes reach the target as well. Where blocks
    that hold the backlog leave too few to draw from, only the trace as recorded is searched.

    Examples
    --------
    >>> import pandas as pd
    >>> from prophase.sim import Cluster, Workload
    >>> jobs = pd.DataFrame({"submit_s": np.arange(600) * 600.0, "duration_s": 5000.0})
    >>> jobs["job_id"], jobs["request_gpus"] = jobs.index.astype(str), 1.0
    >>> now = WhatIfScenario("baseline", Workload.from_jobs(jobs), Cluster.parse("2x1"), {})
    >>> smallest_clusters([now], parse_wait_target("mean wait < 1 min"), seeds=2)[0].nodes
    9
    """
    first = scenarios[0]
    blocks = blocks or blocks_for(first.workload, first.cluster, first.policy)
    drawn = drawing(scenarios, blocks)
    require_blocks(drawn[0][1], seeds, chosen=True)
    seeds = AS_RECORDED if blocks.broken else seeds
    hopeless = {
        number: why
        for number, (scenario, _) in enumerate(drawn)
        if (why := _never(scenario, target))
    }
    tasks = [
        (number, seed)
        for seed in range(AS_RECORDED, seeds + 1)
        for number in range(len(drawn))
        if number not in hopeless
    ]
    found: dict[tuple[int, int], tuple[int, float] | None] = {}
    shared = ([*drawn], target)
    with closing(run_all(_search, shared, tasks, workers=workers)) as results:
        for task, answer in results:
            found[task] = answer
            if progress:
                progress(len(found), len(tasks))
    return [
        _answer(scenario, blocks, target, hopeless.get(number, ""), number, found, seeds)
        for number, (scenario, _) in enumerate(drawn)
    ]


def _answer(
    scenario: WhatIfScenario,
    blocks: DrawnBlocks,
    target: WaitTarget,
    why_not: str,
    number: int,
    found: dict[tuple[int, int], tuple[int, float] | None],
    seeds: int,
) -> SmallestCluster:
    if why_not:
        return SmallestCluster(scenario.name, *(None,) * 6, why_not)
    here = found[number, AS_RECORDED]
    drawn = [found[number, seed] for seed in range(1, seeds + 1)]
    if here is None or any(one is None for one in drawn):
        alone = target.statistic(scenario.workload.duration_s)
        where = "" if here is None else " on some of the resampled traces"
        why = f"not even {_LARGEST} times the nodes reach it{where}"
        if target.of == "jct" and alone >= target.limit_s:
            why = f"without any waiting the run times alone give {alone:,.0f} s"
        return SmallestCluster(scenario.name, *(None,) * 6, why)
    gpus = scaled(scenario.cluster, here[0]).gpus
    if not drawn:
        return SmallestCluster(scenario.name, here[0], gpus, here[1], None, None, None)
    nodes = np.array([one[0] for one in drawn if one is not None], float)
    most = int(max(nodes.max(), here[0]))
    return SmallestCluster(
        scenario.name,
        here[0],
        gpus,
        here[1],
        interval_of_resamples(nodes, blocks.independent),
        most,
        scaled(scenario.cluster, most).gpus,
    )


def _never(scenario: WhatIfScenario, target: WaitTarget) -> str:
    """Say why no number of nodes can reach the target, as far as that is known beforehand."""
    largest = scaled(scenario.cluster, _LARGEST * len(scenario.cluster))
    unfit = unfit_jobs(highest_of(scenario.workload, scenario.policy), largest)
    if unfit.any():
        kinds = scenario.workload.jobs.loc[unfit]
        return (
            f"{int(unfit.sum()):,} jobs fit on no kind of node that this cluster has, such as "
            f"{kinds['job_id'].iloc[0]}: add nodes of another kind, or --leave-out-unfit"
        )
    return ""


def _search(
    shared: tuple[Sequence[tuple[WhatIfScenario, Resampler]], WaitTarget], task: tuple[int, int]
) -> tuple[int, float] | None:
    """Return the fewest nodes that reach the target and its value there; None if none do."""
    drawn, target = shared
    scenario, draw = drawn[task[0]]
    workload = draw(task[1], scenario.load)
    most = highest_of(workload, scenario.policy)
    unlucky = float("inf")

    @cache
    def value_s(nodes: int) -> tuple[float, bool]:
        cluster = scaled(scenario.cluster, nodes)
        if unfit_jobs(most, cluster).any():
            return unlucky, False
        schedule = simulate(workload, cluster, seed=task[1], **scenario.policy)
        return target.value_s(schedule), bool((schedule.wait_s <= 0).all())

    def reaches(nodes: int) -> bool:
        return value_s(nodes)[0] < target.limit_s

    low, high = 0, len(scenario.cluster)
    largest = high * _LARGEST
    while not reaches(high):
        # nobody waits any more and it still is too long, or the search has gone far enough
        if value_s(high)[1] or high >= largest:
            return None
        low, high = high, 2 * high
    while low == 0 and high > 1 and reaches(high // 2):
        high //= 2
    high = _between(max(low, high // 2), high, reaches)
    # packing has its whims: 14 nodes may do where 15 do not, so the next sizes must do as well
    while missed := [more for more in range(high + 1, high + 1 + _NEXT) if not reaches(more)]:
        low, step = missed[-1], 1
        while not reaches(low + step):
            if value_s(low + step)[1] or low + step >= largest:
                return None
            step *= 2
        high = _between(low, low + step, reaches)
    return high, value_s(high)[0]


def _between(low: int, high: int, reaches: Callable[[int], bool]) -> int:
    """Halve the gap between a size that fails (or 0) and one that does not."""
    while high - low > 1:
        middle = (low + high) // 2
        if reaches(middle):
            high = middle
        else:
            low = middle
    return high
