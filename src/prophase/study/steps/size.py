"""Steps about what to change: requests, with the proof on the history, and queue orders."""

from __future__ import annotations

import json
import math

from prophase.errors import ParameterError, not_among
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Fact, Result, Section, Table
from prophase.sizing.export_formats import export
from prophase.sizing.gpu_grants import how_to_share, parts_given
from prophase.sizing.kind_recommendation import Gate, as_rows, recommend
from prophase.sizing.resources import RESOURCES
from prophase.stats.month import span_text, why_no_month
from prophase.study.steps.context import CannotDo, StepContext, StepOutcome, part
from prophase.trace.identity.job_identity import with_identity
from prophase.trace.prices import Prices
from prophase.trace.readers.sacct_rows import DUMP_COMMAND

#: tasks of a recommendation that the report shows; all of them are in a file
_ADVISED = 200
#: source -> how its histories come to have requests and use
_MEASURED = {
    "sacct": f"Dump the job steps too (no -X): {DUMP_COMMAND}",
    "nextflow": "Have them traced: trace.fields = 'task_id,hash,process,name,status,submit,start,"
    "complete,realtime,cpus,memory,%cpu,peak_rss'",
}
RECOMMENDATION_FILE = "recommendation.json"


def _gate(work: StepContext) -> Gate:
    plan, nodes = work.plan, work.trace.tables.get("nodes")
    parts = parts_given(work.jobs, nodes)
    return Gate(
        plan.min_runs,
        plan.advise_above,
        prior=plan.prior,
        gpu_parts=parts,
        min_memory_gib=plan.min_memory_gib,
    )


def sizing_step(work: StepContext) -> StepOutcome:
    """Recommend what each task should ask for."""
    plan = work.plan
    resource = _resource(work)
    gate = _gate(work)
    work.show("which jobs are runs of the same thing", None)
    found = recommend(
        with_identity(work.jobs, by=plan.kind), risk=plan.risk, gate=gate,
        resource=resource, show=lambda percent: work.show("back-testing requests", percent),
    )  # fmt: skip
    document = json.loads(export(found, "json"))
    rows = finite(as_rows(found))
    kept = sum(one.keep for one in found.tasks)
    known = [one.saved_per_month for one in found.tasks if not one.keep]
    saved = sum(one for one in known if math.isfinite(one))
    span_s = 3600 * found.span_h
    month = (
        f"would save {saved:,.0f} {RESOURCES[resource].saved_unit} a month "
        f"(extrapolated from {span_text(span_s)})"
    )
    if why_no_month(span_s):
        month = f"would save an unknown amount a month ({why_no_month(span_s)})"
    requested = not work.missing(RESOURCES[resource].request_column)
    text = [
        f"{counted(len(found.tasks) - kept, 'task')} of {len(found.tasks):,} should ask for "
        f"something else and {month}; the others keep their request, each for the reason given."
        if requested
        else f"No job says what it asks for. {len(found.tasks) - kept:,} of "
        f"{counted(len(found.tasks), 'task')} ran often enough to say what it should ask for.",
        f"Jobs are grouped by {found.rule}; all recommendations are in {RECOMMENDATION_FILE}.",
    ]
    text += how_to_share(
        resource, [row for row, one in zip(rows, found.tasks, strict=True) if not one.keep]
    )
    table = Table("change", rows[:_ADVISED], f"In {found.unit}; those that save most first")
    facts = [Fact("resized", "tasks to resize", len(found.tasks) - kept)]
    return StepOutcome(
        part(Section.told("change", "What to change", text, [table]), facts),
        {
            "advised": len(found.tasks) - kept,
            "tasks": len(found.tasks),
            "identity": found.rule.to_dict(),
            "grouped_by": str(found.rule),
            "resource": resource,
            "requested": requested,
            "unit": found.unit,
            "saved_h_per_month": None if why_no_month(span_s) else saved,
        },
        {RECOMMENDATION_FILE: json.dumps(document, indent=2) + "\n"},
    )


def _resource(work: StepContext) -> str:
    """Return what can be sized on this trace."""
    from prophase.study.proof.candidate import PROVABLE

    named = work.plan.resource
    lacking = {}
    for name in ("memory", "gpu", "cpu", "time") if named == "auto" else (named,):
        if name not in PROVABLE:
            raise ParameterError(
                not_among(f"resource {name!r} cannot be studied.", name, ("auto", *PROVABLE))
            )
        what = RESOURCES[name]
        use = what.use_column + (f"|{what.stand_in}" if what.stand_in else "")
        missing = work.missing(use, what.request_column)
        if not missing:
            return name
        lacking[name] = ", ".join(missing)
    # who never asked for memory can still be told what to ask for
    if lacking.get("memory") == RESOURCES["memory"].request_column:
        return "memory"
    said = "; ".join(f"for {name} {columns}" for name, columns in lacking.items())
    raise CannotDo(
        f"needs requests and measured use of one resource; the trace lacks {said}. "
        + _how_to_record(work)
    )


def _how_to_record(work: StepContext) -> str:
    return _MEASURED.get(work.trace.source, "Import a history that has them")


def proof_step(work: StepContext) -> StepOutcome:
    """Replay the history with and without the recommendation."""
    from prophase.study.proof.candidate import candidate_of
    from prophase.study.proof.prover import prove
    from prophase.study.proof.report import TONES, proof_facts, proof_sections
    from prophase.workers import parse_workers

    plan = work.plan
    if "sizing" not in work.found:
        why = work.cannot.get("sizing", "it was left out")
        raise CannotDo(f"needs a recommendation, and the step sizing gave none: {why}")
    if not work.found["sizing"]["advised"]:
        raise CannotDo(
            "needs a task that should ask for something else; all keep their request, each for "
            f"the reason in {RECOMMENDATION_FILE}"
        )
    if not work.found["sizing"].get("requested", True):
        raise CannotDo(f"needs what jobs ask for today, to compare with. {_how_to_record(work)}")
    jobs = work.jobs
    if work.column("duration_s") and not (jobs["duration_s"] > 0).any():
        raise CannotDo("needs run times above zero: no job of the trace has one")
    resource = work.found["sizing"]["resource"]
    proof = prove(
        jobs,
        candidate_of(json.loads(work.files[RECOMMENDATION_FILE]), name=RECOMMENDATION_FILE),
        None if work.why_none_fits else work.cluster,
        limits=plan.limits,
        prices=plan.prices or (None if resource == "time" else Prices.example()),
        risk=plan.risk,
        gate=_gate(work),
        splits=plan.splits,
        seeds=plan.seeds,
        fails_after=plan.kills_after,
        by=plan.by,
        policy=plan.policy,
        workers=parse_workers(plan.workers),
        seed=plan.seed,
        show=work.show,
    )
    told = Result(
        "proof", answer=proof.verdict.sentence(), tone=TONES[proof.verdict.outcome],
        facts=proof_facts(proof), sections=proof_sections(proof),
    )  # fmt: skip
    return StepOutcome(told, proof.to_dict())


def schedules_step(work: StepContext) -> StepOutcome:
    """Replay the later jobs in other orders, one of them by predictions."""
    from prophase.study.scheduling.comparison import schedule_study
    from prophase.study.scheduling.report import schedule_sections, sentence
    from prophase.workers import parse_workers

    plan = work.plan
    work.need("duration_s", "submit_s|start_s")
    if work.cluster is None:
        raise CannotDo(work.why_no_cluster)
    if work.why_none_fits:
        raise CannotDo(work.why_none_fits)
    study = schedule_study(
        work.jobs, work.cluster, [m for m in plan.methods if m != "global-median"],
        seeds=plan.seeds, by=plan.by, policy={"queue": plan.queue, "place": plan.place},
        workers=parse_workers(plan.workers), seed=plan.seed, show=work.show,
    )  # fmt: skip
    told = Result("schedules", answer=sentence(study), sections=schedule_sections(study))
    return StepOutcome(told, study.to_dict())
