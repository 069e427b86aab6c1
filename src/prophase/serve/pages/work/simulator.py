"""The simulator: what other queue policies would do, and what jobs wait for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from prophase.errors import InputError
from prophase.serve.pages.work import Progress
from prophase.sim import Cluster, Workload
from prophase.trace.trace_tables import Trace, open_trace

#: jobs that a page replays, the latest ones; the command line replays all
MOST_JOBS = 40_000
_BASE: dict[str, Any] = {
    "order": "fifo",
    "place": "best_fit",
    "queue": "skip",
    "estimate": "time_limit_s",
}
_POLICIES = ("fifo:best_fit:strict", "fifo:first_fit:skip", "smallest_gpu_time", "shortest")
_SEEDS = 6
#: with fewer days, there is too little to draw from
_FEWEST_DAYS = 5
_MEASURES = ("mean_wait_s", "p99_wait_s", "mean_jct_s", "gpu_utilisation_pct", "waited_over_1h_pct")


def policies(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return waits and use under several policies, as ``prophase whatif`` gives them."""
    from prophase.sim.whatif.comparison import compare_scenarios, runnable_scenarios
    from prophase.sim.whatif.scenarios import WhatIfQuestion, scenarios_of

    workload, cluster, notes = _opened(folder, arguments, progress)
    scenarios, remarks = scenarios_of(
        WhatIfQuestion(policies=_POLICIES), workload, cluster, dict(_BASE)
    )
    scenarios = runnable_scenarios(scenarios, leave_out_unfit=True)
    block_h = _block_h(workload)
    found = compare_scenarios(
        scenarios,
        seeds=_SEEDS,
        block_h=block_h,
        progress=lambda done, total: progress(f"{done} of {total} replays", 100 * done / total),
    )
    ranked = {
        name: found.ranked(name).to_dict("records") for name in _MEASURES if name in found.cells
    }
    return {
        "ranked": ranked, "blocks": found.blocks, "seeds": _SEEDS, "jobs": len(workload),
        "left_out": dict(found.left_out), "notes": [*notes, *remarks],
        "block_h": block_h, "nodes": len(cluster), "gpus": cluster.gpus,
    }  # fmt: skip


def _block_h(workload: Workload) -> float:
    """Return how many hours are drawn together: days, or an eighth of a trace of few days."""
    span_h = float(np.ptp(workload.submit_s)) / 3600
    return 24.0 if span_h >= _FEWEST_DAYS * 24 else max(span_h / 8, 0.05)


def causes(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return what jobs wait for, as ``prophase why`` gives it."""
    from prophase.sim.why.explanation import why

    workload, cluster, notes = _opened(folder, arguments, progress)
    found = why(
        workload,
        cluster,
        clock=open_trace(folder, tables=[]).clock,
        leave_out_unfit=True,
        progress=progress,
        **_BASE,
    )
    told = found.to_dict()
    return {**told, "notes": [*notes, *told["notes"]]}


def _opened(
    folder: Path, arguments: Mapping[str, Any], progress: Progress
) -> tuple[Workload, Cluster, list[str]]:
    progress("reading the trace", None)
    trace = open_trace(folder, tables=["jobs", "nodes"])
    jobs, notes = trace.jobs, []
    if len(jobs) > MOST_JOBS:
        notes.append(f"Replayed are the latest {MOST_JOBS:,} of {len(jobs):,} jobs.")
        jobs = jobs.sort_values("submit_s", kind="stable").tail(MOST_JOBS)
    return Workload.from_jobs(jobs), _cluster(trace, arguments.get("cluster")), notes


def _cluster(trace: Trace, named: str | None) -> Cluster:
    if named:
        return Cluster.parse(named)
    if "nodes" not in trace.tables:
        raise InputError("the workspace has no node table. Name a cluster, such as 100x8.")
    return Cluster.from_nodes(trace.nodes)
