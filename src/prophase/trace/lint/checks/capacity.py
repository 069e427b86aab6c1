"""More use than was asked for, or than any node has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.trace.lint.check_registry import Floats, LintFinding, LintSubject, check, numbers

#: rounding of reported capacities
_SLACK = 1.05
#: use, and what was asked for it; memory is a limit, CPU and GPU may be borrowed
_LIMITS = (
    ("memory_peak_gib", "request_memory_gib", 1.0, 0.20),
    ("cpu_mean_cores", "request_cpu_cores", 1.0, 0.50),
    ("gpu_util_mean_pct", "request_gpus", 100.0, 0.25),
)
#: use or request per instance -> column of the node table
_ON_NODES = (
    ("memory_peak_gib", "memory_gib", 1.0),
    ("memory_mean_gib", "memory_gib", 1.0),
    ("cpu_mean_cores", "cpu_cores", 1.0),
    ("cpu_peak_cores", "cpu_cores", 1.0),
    ("gpu_util_mean_pct", "gpus", 100.0),
)
_REQUESTS = (
    ("request_cpu_cores", "cpu_cores"),
    ("request_memory_gib", "memory_gib"),
    ("request_gpus", "gpus"),
)
_CAPACITIES = ("cpu_cores", "memory_gib", "gpus")


@check("use-above-request", "jobs")
def use_above_request(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs that used more than they asked for."""
    for use, request, scale, normal in _LIMITS:
        used, asked = numbers(subject.jobs, use), numbers(subject.jobs, request) * scale
        both = ~np.isnan(used) & (asked > 0)
        above = both & (used > _SLACK * asked)
        if not above.any():
            continue
        share = above.sum() / both.sum()
        yield from subject.marked(
            f"jobs.{use}",
            above,
            "warning" if share >= normal and above.sum() >= 5 else "info",
            f"{{n}} jobs ({{share}} of those with both) show {use} above {request}. "
            + (
                "Where the request is a limit that is enforced this cannot be: another unit, or "
                "the use of another job, brought in by a join."
                if use == "memory_peak_gib"
                else "Clusters that lend idle resources allow this."
            ),
            "Check whether the source enforces requests; if it does, check units and join keys.",
            of=int(both.sum()),
        )


@check("use-above-node", "jobs", "nodes")
def use_above_node(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs that used more than their node, or the largest node, has."""
    for use, capacity, scale in _ON_NODES:
        if use not in subject.jobs or capacity not in subject.nodes:
            continue
        used = numbers(subject.jobs, use)
        largest = numbers(subject.nodes, capacity) * scale
        if np.isnan(largest).all() or np.nanmax(largest) <= 0:
            continue
        room = _room(subject.jobs, subject.nodes, largest)
        above = used > _SLACK * room
        if above.any():
            known = int(np.sum(~np.isnan(used)))
            # ten times a node's size is arithmetic, not measurement
            absurd = np.sum(used > 10 * room) > 0.01 * known
            yield from subject.marked(
                f"jobs.{use}",
                above,
                "error" if absurd else "warning",
                f"{{n}} jobs ({{share}}) show {use} above what their node has (at most "
                f"{np.nanmax(largest):,.4g}). No job can use what is not there: another unit, a "
                "sum over several nodes, or an incomplete node list.",
                f"Check the unit of {use}, whether it is per instance, and the node table.",
                of=known,
            )


@check("request-above-every-node", "jobs", "nodes")
def request_above_every_node(subject: LintSubject) -> Iterator[LintFinding]:
    """Jobs that ask for more than the largest node has."""
    for request, capacity in _REQUESTS:
        asked, sizes = numbers(subject.jobs, request), numbers(subject.nodes, capacity)
        if np.isnan(sizes).all() or np.isnan(asked).all():
            continue
        above = asked > np.nanmax(sizes) * 1.001
        yield from subject.marked(
            f"jobs.{request}",
            above,
            "warning",
            f"{{n}} jobs ({{share}}) ask for more {request} per instance than the largest node "
            f"has ({np.nanmax(sizes):,.4g}, the request goes up to {np.nanmax(asked):,.4g}). "
            "They can never start, in a simulation or in reality.",
            "Check units and whether the request is for all instances together; add the "
            "missing nodes, or leave these jobs out.",
        )


@check("demand-above-capacity", "jobs", "nodes")
def demand_above_capacity(subject: LintSubject) -> Iterator[LintFinding]:
    """Resources and GPU types of which jobs hold more, on average, than all nodes have."""
    jobs, nodes = subject.jobs, subject.nodes
    held_s, span_s = _held_s(jobs)
    if not span_s > 0:
        return
    for request, capacity in _REQUESTS:
        asked, sizes = numbers(jobs, request), numbers(nodes, capacity)
        if np.isnan(sizes).all() or np.isnan(asked).all():
            continue
        demand = np.nan_to_num(asked * held_s)
        for name, of_jobs, of_nodes in _pools(jobs, nodes, request):
            room = float(np.nansum(sizes[of_nodes]))
            load = float(demand[of_jobs].sum()) / span_s / room if room > 0 else 0.0
            if load <= _SLACK:
                continue
            yield from subject.marked(
                f"jobs.{request}",
                of_jobs & (demand > 0),
                "warning",
                f"Jobs hold {100 * load:,.0f}% of all {name} on average from the first to the "
                f"last submission ({{n}} jobs; the nodes have {room:,.4g}). More cannot run than "
                "there is: nodes are missing, the request is counted twice, or the jobs are of "
                "more than these nodes.",
                "Add the missing nodes, check whether requests are per instance, or replay with "
                "--cluster 90%.",
            )


def _held_s(jobs: pd.DataFrame) -> tuple[Floats, float]:
    """Return how long all instances of a job hold their requests until the last submission."""
    submit, start = numbers(jobs, "submit_s"), numbers(jobs, "start_s")
    begin = np.where(np.isnan(start), submit, start)
    lasts, many = numbers(jobs, "duration_s"), np.nan_to_num(numbers(jobs, "instances"), nan=1.0)
    known = ~np.isnan(begin)
    if not known.any() or np.isnan(lasts).all():
        return np.zeros(len(jobs)), 0.0
    last = float(np.nanmax(np.where(np.isnan(submit), begin, submit)))
    left = np.maximum(last - np.where(known, begin, last), 0.0)
    return np.minimum(np.nan_to_num(lasts), left) * many, last - float(np.nanmin(begin))


def _pools(
    jobs: pd.DataFrame, nodes: pd.DataFrame, request: str
) -> Iterator[tuple[str, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield the whole cluster, and each GPU type by itself: who asks for it, who has it."""
    everyone, everywhere = np.ones(len(jobs), bool), np.ones(len(nodes), bool)
    yield request.removeprefix("request_").replace("_", " "), everyone, everywhere
    if request != "request_gpus" or "gpu_type" not in jobs or "gpu_type" not in nodes:
        return
    (codes, names), there = pd.factorize(jobs["gpu_type"]), nodes["gpu_type"].astype("string")
    for kind in there.dropna().unique():
        has = (there == kind).fillna(False).to_numpy(bool)
        wants = np.isin(codes, np.flatnonzero(pd.Index(names).astype("string") == kind))
        if wants.any() and not (wants.all() and has.all()):
            yield f"{kind} GPUs", wants, has


@check("node-without-capacity", "nodes")
def node_without_capacity(subject: LintSubject) -> Iterator[LintFinding]:
    """Nodes with nothing to give."""
    sizes = [numbers(subject.nodes, name) for name in _CAPACITIES if name in subject.nodes]
    if not sizes:
        return  # a list of names; nothing is claimed about sizes
    empty = np.all([np.isnan(size) | (size <= 0) for size in sizes], axis=0)
    cores = numbers(subject.nodes, "cpu_cores")
    no_cores = (cores <= 0) & ~empty
    for rows, column, what in (
        (empty, "", "no capacity at all"),
        (no_cores, "cpu_cores", "no CPU cores"),
    ):
        yield from subject.marked(
            f"nodes.{column}",
            rows,
            "warning",
            f"{{n}} nodes ({{share}}) have {what}. Nothing can be placed on them, and rates "
            "per capacity divide by zero.",
            "Fill in their size, or leave them out.",
        )


@check("use-above-limit", "usage")
def use_above_limit(subject: LintSubject) -> Iterator[LintFinding]:
    """Samples above one hundred percent, or above the limit in force."""
    usage = subject.usage
    for column, limit, what in (
        ("cpu_util_pct", np.full(len(usage), 100.0), "100%"),
        ("cpu_util_peak_pct", np.full(len(usage), 100.0), "100%"),
        ("memory_util_frac", np.full(len(usage), 1.0), "1"),
        ("memory_gib", numbers(usage, "memory_limit_gib"), "memory_limit_gib"),
    ):
        values = numbers(usage, column)
        above = values > _SLACK * limit
        if above.any():
            known = int(np.sum(~np.isnan(values)))
            yield from subject.marked(
                f"usage.{column}",
                above,
                "warning" if above.sum() >= 0.001 * known else "info",
                f"{{n}} samples ({{share}}) of {column} lie above {what}, up to "
                f"{np.nanmax(values):,.4g}: counted per core or GPU instead of per series, or in "
                "another unit.",
                "Check what 100% stands for in this source.",
                of=known,
            )


def _room(jobs: pd.DataFrame, nodes: pd.DataFrame, size: Floats) -> Floats:
    """Return what the node of each job has; the largest node's size where it is not known."""
    largest = float(np.nanmax(size))
    if "after_node" not in jobs or "node_id" not in nodes:
        return np.full(len(jobs), largest)
    by_name = pd.Series(size, index=nodes["node_id"].astype("string"))
    by_name = by_name[~by_name.index.duplicated() & (by_name > 0).to_numpy()]
    codes, names = pd.factorize(jobs["after_node"])
    rooms = by_name.reindex(pd.Index(names).astype("string")).fillna(largest)
    # the last place is that of jobs without a node
    return np.append(rooms.to_numpy(np.float64), largest)[codes]
