"""Replays, comparisons and sizes in the background, with the results of the commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prophase.serve.background.kinds import Progress


def simulate_trace(
    folder: Path, arguments: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    """Replay the jobs of a workspace, as ``prophase simulate``."""
    from prophase.sim import Workload, simulate
    from prophase.sim.answers import cluster_of, told_schedule
    from prophase.sim.measures.groups import groups_of
    from prophase.trace.loading import open_trace

    progress("reading the trace", None)
    trace = open_trace(folder)
    cluster = cluster_of(trace, arguments["cluster"], where=folder.name)
    workload = Workload.from_jobs(trace.jobs)
    if arguments["by"] is not None:
        groups_of(workload, arguments["by"])
    progress(f"replaying {len(workload):,} jobs", None)
    names = ("order", "place", "queue", "estimate", "leave_out_unfit", "noise", "seed")
    schedule = simulate(workload, cluster, **{name: arguments[name] for name in names})
    metrics = schedule.metrics(by=arguments["by"])
    return told_schedule(schedule, cluster, metrics, trace.data_hash)


def compare_changes(
    folder: Path, arguments: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    """Compare changes with a baseline, as ``prophase whatif``."""
    from prophase.errors import ParameterError
    from prophase.sim import Workload
    from prophase.sim.answers import cluster_of, told_comparison, told_size
    from prophase.sim.whatif import (
        Question,
        compare_scenarios,
        parse_target,
        ready,
        scenarios_of,
        smallest_clusters,
    )
    from prophase.trace.loading import open_trace

    question = Question(
        add=tuple(arguments["add"]),
        remove=tuple(arguments["remove"]),
        loads=tuple(arguments["load"]),
        policies=tuple(arguments["policy"]),
        sharing=arguments["sharing"],
        combine=arguments["combine"],
    )
    promise = parse_target(arguments["target"]) if arguments["target"] else None
    if promise is None and question.is_empty:
        raise ParameterError(
            "nothing to compare with the baseline. Say for example add, load, policy or target."
        )
    progress("reading the trace", None)
    trace = open_trace(folder)
    workload = Workload.from_jobs(trace.jobs)
    cluster = cluster_of(trace, arguments["cluster"], where=folder.name)
    base = {name: arguments[name] for name in ("order", "place", "queue", "estimate")}
    scenarios, remarks = scenarios_of(question, workload, cluster, base)
    scenarios = ready(scenarios, leave_out_unfit=arguments["leave_out_unfit"])
    seeds, block_h = arguments["seeds"], arguments["block_h"]
    run: dict[str, Any] = {"seeds": seeds, "block_h": block_h, "workers": 1}
    compared = compare_scenarios(
        scenarios,
        progress=lambda done, total: progress(f"{done} of {total} replays", 100 * done / total),
        **run,
    )
    told = told_comparison(
        compared,
        scenarios,
        measure=arguments["measure"],
        seeds=seeds,
        block_h=block_h,
        data_hash=trace.data_hash,
        remarks=remarks,
    )
    if promise is not None:
        sizes = smallest_clusters(
            scenarios,
            promise,
            progress=lambda done, total: progress(
                f"{done} of {total} searches", 100 * done / total
            ),
            **run,
        )
        told |= {"target": arguments["target"], "smallest": [told_size(one) for one in sizes]}
    return told


def advise_sizes(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Say what tasks should ask for, as ``prophase size advise``."""
    from prophase.sizing.advising.advice import Gate, advise
    from prophase.sizing.advising.exporting import told_advice
    from prophase.trace.loading import open_trace

    progress("reading", None)
    trace = open_trace(folder, tables=["jobs"])
    found = advise(
        trace.jobs,
        risk=arguments["risk"],
        gate=Gate(
            fewest_runs=arguments["min_runs"],
            least_saving=arguments["min_saving"],
            most_oom=arguments["max_oom"],
        ),
        resource=arguments["resource"],
        data_hash=trace.data_hash,
        show=lambda percent: progress("trying advice on the past", percent),
    )
    return told_advice(found)


def watch_reported(
    folder: Path, arguments: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    """Watch reported jobs against their predictions, as ``prophase watch --with``."""
    import pandas as pd

    from prophase.profile.drift.in_workspace import (
        begin_watching,
        publish,
        told_watch,
        watch_folder,
    )
    from prophase.serve.feedback.store import FeedbackStore
    from prophase.trace.workspace import Workspace

    workspace = Workspace(folder)
    watched = watch_folder(workspace)
    remarks: list[str] = []
    with workspace.writing():
        if watched.started:
            watcher = watched.load()
        else:
            progress("learning what is usual", None)
            watcher, remarks = begin_watching(workspace, watched)
        reported = [job for _, job in FeedbackStore(folder).since(0)]
        if reported:
            table = pd.DataFrame(reported).reindex(columns=_columns(reported, watcher))
            taken = watched.take(table)
            remarks.append(f"{taken.new:,} reported jobs are new, {taken.known:,} were known.")
        watched.go_on(
            watcher,
            lambda done, all_: progress(f"watching {all_:,} jobs", 100 * done / max(all_, 1)),
        )
        publish(workspace, watcher)
    return told_watch(watcher, watched, remarks)


def _columns(reported: list[dict[str, Any]], watcher: Any) -> list[str]:
    """Return all columns that reports have, and those that the watcher cannot do without."""
    needed = [watcher.target, *(watcher.profiler_.columns_ if watcher.profiler_ else ())]
    return list(dict.fromkeys([*(name for job in reported for name in job), *needed]))
