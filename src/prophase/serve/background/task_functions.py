"""Background tasks (replay, compare, explain, size, prove, learn), with the results of commands."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from prophase.errors import BadRowsError, InputError, ProphaseError
from prophase.json_types import JsonMapping, JsonObject
from prophase.serve.background.task_kinds import Progress
from prophase.trace.workspace_paths import UPLOADS

#: arguments of a request that a replay takes as they are
_POLICY = ("order", "place", "queue", "estimate", "leave_out_unfit", "seed")


def simulate_trace(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Replay the jobs of a workspace, as ``prophase simulate``."""
    from prophase.sim import Workload, simulate
    from prophase.sim.measures.job_classes import groups_of
    from prophase.sim.results import cluster_of, schedule_values
    from prophase.trace.trace_tables import open_trace

    progress("reading the trace", None)
    trace = open_trace(folder)
    cluster = cluster_of(trace, arguments["cluster"], where=folder.name)
    workload = Workload.from_jobs(trace.jobs, without_clock=arguments["depends"] is not None)
    if arguments["by"] is not None:
        groups_of(workload, arguments["by"])
    progress(f"replaying {len(workload):,} jobs", None)
    settings = {name: arguments[name] for name in (*_POLICY, "noise", "depends")}
    schedule = simulate(workload, cluster, **settings)
    metrics = schedule.metrics(by=arguments["by"])
    return schedule_values(schedule, cluster, metrics, trace.data_hash)


def compare_changes(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Compare changes with a baseline, as ``prophase whatif``."""
    from prophase.sim import Workload
    from prophase.sim.results import cluster_of
    from prophase.sim.whatif.result import what_if
    from prophase.sim.whatif.scenarios import WhatIfQuestion
    from prophase.trace.trace_tables import open_trace

    progress("reading the trace", None)
    trace = open_trace(folder)
    result = what_if(
        Workload.from_jobs(trace.jobs),
        cluster_of(trace, arguments["cluster"], where=folder.name),
        WhatIfQuestion(
            add=tuple(arguments["add"]),
            remove=tuple(arguments["remove"]),
            loads=tuple(arguments["load"]),
            policies=tuple(arguments["policy"]),
            sharing=arguments["sharing"],
            combine=arguments["combine"],
        ),
        {name: arguments[name] for name in ("order", "place", "queue", "estimate")},
        goal=arguments["target"],
        measure=arguments["measure"],
        seeds=arguments["seeds"],
        block_h=arguments["block_h"],
        leave_out_unfit=arguments["leave_out_unfit"],
        progress=progress,
        data_hash=trace.data_hash,
    )
    return dict(result.values or {})


def explain_waits(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Say what jobs wait for, and what removing each cause would save, as ``prophase why``."""
    from prophase.sim import Workload
    from prophase.sim.results import cluster_of
    from prophase.sim.why.explanation import why
    from prophase.sim.why.result import why_result
    from prophase.trace.trace_tables import open_trace

    progress("reading the trace", None)
    trace = open_trace(folder)
    found = why(
        Workload.from_jobs(trace.jobs),
        cluster_of(trace, arguments["cluster"], where=folder.name),
        by=arguments["by"],
        blame_by=arguments["blame_by"],
        short_below_s=arguments["short_below_s"],
        clock=trace.clock,
        remove=not arguments["only_shares"],
        progress=progress,
        **{name: arguments[name] for name in _POLICY},
    )
    return dict(why_result(found, data_hash=trace.data_hash).values or {})


def validate_replay(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Compare replayed waits with recorded ones, as ``prophase validate``."""
    from prophase.sim.results import cluster_of
    from prophase.sim.validation.replay_check import Scoring, check_replay
    from prophase.trace.trace_tables import open_trace

    progress("reading the trace", None)
    trace = open_trace(folder)
    cluster = cluster_of(trace, arguments["cluster"], where=folder.name)
    policy = {name: arguments[name] for name in _POLICY}
    scoring = Scoring(**{name: arguments[name] for name in ("by", "clocks", "warm_up_s", "seed")})
    _, result = check_replay(trace, cluster, policy, scoring, progress)
    return dict(result.values or {})


def forecast_job_start(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Say when a waiting or a new job will start, as ``prophase eta``."""
    from prophase.sim.forecast.start_answer import StartQuestion, answer_start
    from prophase.sim.results import cluster_of
    from prophase.trace.trace_tables import open_trace

    progress("reading the trace", None)
    trace = open_trace(folder)
    cluster = cluster_of(trace, arguments["cluster"], where=folder.name)
    new = {name: value for name, value in (arguments["new_job"] or {}).items() if value is not None}
    job = arguments["job"] if arguments["job"] is not None else new
    question = StartQuestion(
        job, arguments["now_s"], arguments["draws"], arguments["check"], arguments["seed"]
    )
    policy = {name: arguments[name] for name in _POLICY if name != "seed"}
    _, result = answer_start(trace, cluster, question, policy, progress)
    return dict(result.values or {})


def ask_queueing_theory(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Ask queueing theory, of the workspace or of numbers, as ``prophase queueing``."""
    from prophase.sim.queueing.questions import QueueQuestion, answer_question
    from prophase.trace.trace_tables import open_trace

    progress("asking theory", None)
    question = QueueQuestion(**arguments)
    tables = ["jobs"] if question.model == "trace" else None
    result = answer_question(question, lambda: open_trace(folder, tables=tables))
    return dict(result.values or {"rows": list(result.rows)})


def sweep_policies(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Rank all combinations of policies, clusters and loads, as ``prophase sweep``."""
    from tempfile import TemporaryDirectory

    from prophase.sim import Cluster, Workload
    from prophase.sim.sweep.plan import SweepPlan
    from prophase.sim.sweep.results import SavedSweep
    from prophase.sim.sweep.runner import run_sweep
    from prophase.study.sweep_report import sweep_answer, usual_measures
    from prophase.trace.trace_tables import open_trace

    progress("reading the trace", None)
    trace = open_trace(folder)
    nodes = trace.tables.get("nodes")
    policies = {name: arguments[name] for name in ("order", "place", "queue") if arguments[name]}
    plan = SweepPlan(
        clusters=arguments["cluster"] or ("own",),
        policies=policies,
        loads=arguments["load"],
        sharing=arguments["sharing"],
        seeds=arguments["seeds"],
        block_h=arguments["block_h"],
    )
    measures = arguments["measure"] or usual_measures(plan)
    with TemporaryDirectory() as scratch:
        found = run_sweep(
            Workload.from_jobs(trace.jobs),
            plan,
            own=None if nodes is None else Cluster.from_nodes(nodes),
            folder=Path(scratch) / "sweep",
            workers=1,
            leave_out_unfit=arguments["leave_out_unfit"],
            progress=lambda done, of: progress(f"{done:,} of {of:,} cells", 100 * done / of),
        )
    kept = SavedSweep(found, plan, measures)
    return dict(sweep_answer(kept, found.ranked(measures)).values or {})


def recommend_sizes(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Say what tasks should ask for, as ``prophase size recommend``."""
    from prophase.sizing.gpu_grants import parts_given
    from prophase.sizing.kind_recommendation import Gate, recommend
    from prophase.sizing.resources import SMALLEST_GIB
    from prophase.trace.trace_tables import open_trace

    progress("reading", None)
    trace = open_trace(folder, tables=["jobs", "nodes"])
    found = recommend(
        trace.jobs,
        risk=arguments["risk"],
        gate=Gate(
            fewest_runs=arguments["min_runs"],
            least_saving=arguments["min_saving"],
            most_oom=arguments["max_oom"],
            prior=arguments["prior"],
            min_memory_gib=arguments.get("min_memory_gib", SMALLEST_GIB),
            gpu_parts=parts_given(trace.jobs, trace.tables.get("nodes")),
        ),
        resource=arguments["resource"],
        data_hash=trace.data_hash,
        show=lambda percent: progress("back-testing requests", percent),
    )
    return found.to_dict()


def watch_reported(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Watch reported jobs against their predictions, as ``prophase watch --with``."""
    import pandas as pd

    from prophase.profile.drift.watch_folder import (
        begin_watching,
        publish,
        watch_as_json,
        watch_folder,
    )
    from prophase.study.feedback.store import FeedbackStore
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
        store = FeedbackStore(folder)
        reported = [job for _, job in store.since(0)]
        store.close()
        if reported:
            table = pd.DataFrame(reported).reindex(columns=_columns(reported, watcher))
            taken = watched.take(table)
            remarks.append(f"{taken.new:,} reported jobs are new, {taken.known:,} were known.")
        watched.go_on(
            watcher,
            lambda done, all_: progress(f"watching {all_:,} jobs", 100 * done / max(all_, 1)),
        )
        publish(workspace, watcher)
    return watch_as_json(watcher, watched, remarks)


def _columns(reported: list[JsonObject], watcher: Any) -> list[str]:
    """Return all columns that reports have, and those that the watcher cannot do without."""
    needed = [watcher.target, *(watcher.profiler_.columns_ if watcher.profiler_ else ())]
    return list(dict.fromkeys([*(name for job in reported for name in job), *needed]))


def import_upload(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Import ``upload/name`` below the uploads; the file is gone afterwards, whatever happens."""
    room = folder / UPLOADS / arguments["upload"]
    try:
        return _imported(folder, room / arguments["name"], arguments, progress)
    except ProphaseError as error:
        # where the service keeps uploads says nothing to the one who sent the file
        raise InputError(str(error).replace(f"{room}/", "")) from error
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _imported(folder: Path, path: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    from prophase.trace.import_pipeline import import_trace
    from prophase.trace.mapping.mapping_proposal import unsure_columns, usable_mapping
    from prophase.trace.schema import SCHEMAS
    from prophase.trace.source_recognition import recognise_source
    from prophase.trace.workspace import Workspace

    def read(source: str, mapping: str | None) -> JsonObject:
        options = {}
        if mapping is not None:
            options["map"] = str(path.with_name(".mapping.toml"))
            Path(options["map"]).write_text(mapping, encoding="utf-8")
        report = import_trace(
            source, path, Workspace(folder), options=options, keep=arguments["keep"],
            max_bad=arguments["max_bad"], mode=arguments["mode"], command="POST /v1/import",
            progress=progress,
        )  # fmt: skip
        used = {"path": path.name, "mapping": mapping, "unsure": unsure_columns(mapping or "")}
        return report.to_dict() | used

    source, mapping = arguments["source"], arguments["mapping"]
    if mapping is not None:
        return read(source or "csv", mapping)
    if source is not None:
        return read(source, None)
    source, mapping = recognise_source(path, [*SCHEMAS])
    try:
        return read(source, mapping)
    except BadRowsError:
        # our names, but times or amounts written in a form that only a mapping tells
        if source != "csv" or mapping is not None:
            raise
        return read(source, usable_mapping(path, [*SCHEMAS]))


def retrain_models(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Learn predictions, requests and profiles from the jobs of the workspace."""
    from prophase.study.workspace_models import learn_models

    found = learn_models(
        folder,
        arguments.get("targets"),
        method=arguments.get("method", "default"),
        seed=arguments.get("seed", 0),
        show=progress,
    )
    return found.to_dict()


def prove_recommendation(folder: Path, arguments: JsonMapping, progress: Progress) -> JsonObject:
    """Replay the workspace's jobs with and without a recommendation, as ``prophase prove``."""
    from prophase.sim import Cluster
    from prophase.sizing.gpu_grants import parts_given
    from prophase.sizing.kind_recommendation import Gate
    from prophase.sizing.resources import SMALLEST_GIB
    from prophase.study.proof.candidate import candidate_of
    from prophase.study.proof.prover import prove
    from prophase.study.proof.verdict import Limits
    from prophase.trace.trace_tables import open_trace

    progress("reading the trace", None)
    trace = open_trace(folder, tables=["jobs", "nodes"])
    text = arguments["cluster"]
    nodes = Cluster.from_nodes(trace.nodes) if "nodes" in trace.tables else None
    given = arguments["advice"]
    proof = prove(
        trace.jobs,
        None if given is None else candidate_of(given),
        nodes if text is None else Cluster.parse(text),
        limits=Limits(*(arguments[n] for n in ("max_oom", "min_saving", "max_longer_wait"))),
        risk=arguments["risk"],
        gate=Gate(
            arguments["min_runs"],
            arguments["advise_above"],
            prior=arguments["prior"],
            min_memory_gib=arguments.get("min_memory_gib", SMALLEST_GIB),
            gpu_parts=parts_given(trace.jobs, trace.tables.get("nodes")),
        ),
        resource=arguments["resource"],
        kind=arguments["kind"],
        splits=arguments["splits"],
        seeds=arguments["seeds"],
        fails_after=arguments["kills_after"],
        by=arguments["by"],
        policy={name: arguments[name] for name in ("order", "place", "queue")},
        seed=arguments["seed"],
        show=progress,
    )
    return {"data_hash": trace.data_hash, **proof.to_dict()}
