"""Nodes against jobs: CPU per GPU, what is allocated, and whether CPUs slow jobs down."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from prophase.papers.findings.finding import (
    FigureDefinition,
    PublishedFinding,
    column,
    published_only,
    weighted_quantile,
)
from prophase.papers.findings.waiting_times import high_end
from prophase.trace.describe.column_arrays import has_values, numbers
from prophase.trace.describe.job_counts import instances_of
from prophase.trace.trace_tables import Trace

_NODES = ("nodes.cpu_cores", "nodes.gpus")
_PLACED = ("after_node", "start_s", "duration_s", "nodes.node_id", "nodes.gpus")
_SLOW = 1.5


def cpu_per_gpu(trace: Trace) -> PublishedFinding:
    """Compare the cores per GPU that nodes offer with those that instances ask for."""
    asks = ("request_cpu_cores", "request_gpus")
    asked = (
        FigureDefinition(
            "cores per GPU that nodes of 8 GPUs offer",
            "cores",
            _NODES,
            lambda t: _offered(t, 8),
            (12.0,),
            nothing="no node has 8 GPUs",
        ),
        FigureDefinition(
            "cores per GPU that GPU instances ask for: on nodes of 8 GPUs if it is known where "
            "they ran, else anywhere",
            "cores",
            asks,
            lambda t: _asked(t, 8),
            (22.8,),
            nothing="no such instance asks for both",
        ),
        FigureDefinition(
            "cores per GPU that nodes of 2 GPUs offer, over those that instances ask for there",
            "times",
            (*_NODES, *asks),
            _offered_over_asked,
            (2.0,),
            "over",
            "no node has 2 GPUs, or no instance on them asks for CPU and GPU",
        ),
    )
    return PublishedFinding("cpu_per_gpu", "CPU per GPU", tuple(one.of(trace) for one in asked))


def allocation(trace: Trace) -> PublishedFinding:
    """Say how much of weak and strong nodes is allocated."""
    asked = (
        FigureDefinition(
            f"{name} allocated on {words}, from the first start to the last end",
            "%",
            (*_PLACED, request, f"nodes.{capacity}"),
            _allocated(request, capacity, strong),
            (published,),
            nothing=f"the trace has no {words}, or their type is not disclosed",
        )
        for words, strong, name, request, capacity, published in (
            ("nodes of 8 low-end GPUs", False, "CPU", "request_cpu_cores", "cpu_cores", 77.0),
            ("nodes of 8 low-end GPUs", False, "GPUs", "request_gpus", "gpus", 74.0),
            ("nodes of high-end GPUs", True, "CPU", "request_cpu_cores", "cpu_cores", 35.0),
            ("nodes of high-end GPUs", True, "GPUs", "request_gpus", "gpus", 49.0),
        )
    )
    return PublishedFinding(
        "allocation",
        "Allocation by kind of node",
        tuple(one.of(trace) for one in asked),
        "Requests times run time over capacity times time. Of a sample of jobs it is that "
        "sample's part only.",
    )


def cpu_bottleneck(trace: Trace) -> PublishedFinding:
    """Say how busy the CPUs beside slow instances are."""
    asked = FigureDefinition(
        "median CPU use of the node beside delayed instances: those that ran for more than 1.5 "
        "times the median of their group and task",
        "%",
        ("after_machine_cpu", "group", "duration_s"),
        _beside_delayed,
        (24.0,),
        nothing="no instance is delayed and has its node's CPU use",
    )
    return PublishedFinding(
        "cpu_bottleneck",
        "CPU as the bottleneck",
        (
            asked.of(trace),
            published_only(
                "time that click-through models spend on CPU, at most",
                "%",
                (80.0,),
                "time per operation inside a job missing",
            ),
            published_only(
                "time that graph neural networks spend on CPU",
                "%",
                (30.0, 90.0),
                "time per operation inside a job missing",
            ),
        ),
        "Published: nodes above 24 % CPU use run half of the delayed instances.",
    )


def _node_rows(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return for each job the row of its node, and whether it is known."""
    nodes = trace.nodes.reset_index(drop=True).drop_duplicates("node_id")
    place = dict(zip(nodes["node_id"].astype(str), nodes.index, strict=True))
    found = trace.jobs["after_node"].astype(str).map(place).to_numpy(float, na_value=-1)
    return np.maximum(found, 0).astype(np.int64), found >= 0


def _offered(trace: Trace, gpus: int) -> float | None:
    rows = numbers(trace.nodes, "gpus") == gpus
    cores = float(np.nansum(numbers(trace.nodes, "cpu_cores")[rows]))
    return cores / (gpus * int(rows.sum())) if rows.any() and cores > 0 else None


def _asked(trace: Trace, gpus: int) -> float | None:
    cores, wanted = column(trace, "request_cpu_cores"), column(trace, "request_gpus")
    rows = (wanted > 0) & (cores > 0)
    if "nodes" in trace.tables and has_values(trace.jobs, "after_node"):
        node, known = _node_rows(trace)
        if known.any():
            rows &= known & (numbers(trace.nodes, "gpus")[node] == gpus)
    weight = instances_of(trace.jobs)[rows]
    total = float((wanted[rows] * weight).sum())
    return float((cores[rows] * weight).sum()) / total if total > 0 else None


def _offered_over_asked(trace: Trace) -> float | None:
    offered, asked = _offered(trace, 2), _asked(trace, 2)
    return offered / asked if offered and asked else None


def _allocated(request: str, capacity: str, strong: bool) -> Callable[[Trace], float | None]:
    def share(trace: Trace) -> float | None:
        kind = high_end(trace.nodes["gpu_type"]) if "gpu_type" in trace.nodes else None
        if kind is None:
            return None
        gpus = numbers(trace.nodes, "gpus")
        chosen = (kind == 1) & (gpus > 0) if strong else (kind == 0) & (gpus == 8)
        node, known = _node_rows(trace)
        start, duration = column(trace, "start_s"), column(trace, "duration_s")
        timed = ~np.isnan(start) & ~np.isnan(duration)
        if not timed.any():
            return None
        span = float((start + duration)[timed].max() - start[timed].min())
        room = float(np.nansum(numbers(trace.nodes, capacity)[chosen])) * span
        there = known & timed & chosen[node]
        used = column(trace, request) * duration * instances_of(trace.jobs)
        return 100 * float(np.nansum(used[there])) / room if room > 0 else None

    return share


def _beside_delayed(trace: Trace) -> float | None:
    jobs = trace.jobs
    keys = [key for key in ("group", "task") if has_values(jobs, key)]
    usual = jobs.groupby(keys)["duration_s"].transform("median").to_numpy(float, na_value=np.nan)
    delayed = column(trace, "duration_s") > _SLOW * usual
    use = column(trace, "after_machine_cpu")
    return weighted_quantile(use[delayed], instances_of(jobs)[delayed], 0.5)
