"""The steps of a study, in their order: each reads the tables and returns a part of the report."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prophase.errors import InputError, ParameterError, not_among
from prophase.plain import finite
from prophase.plural import counted
from prophase.sizing.advising.advice import Gate, advise, as_rows
from prophase.sizing.advising.exporting import export
from prophase.study.loop.work import CannotDo, StepOutcome, Work
from prophase.study.report import Chart, Finding, Measure, Report, ResultTable

_SHOWN = 12
#: tasks of an advice that the report looks at; the whole of it is in a file
_ADVISED = 200
#: jobs that profiles are made of
_PROFILED = 10_000
#: series that phases are looked for in, and samples of each
_SERIES, _SAMPLES = 8, 1_000
_SCORES = ("median_ape_pct", "within_20_pct", "within_x2_pct", "r2_log", "coverage_90_pct")
#: source -> how its histories come to have requests and use
_MEASURED = {
    "sacct": "Export them too: sacct --format=ALL --parsable2, with the job steps (no -X)",
    "nextflow": "Have them traced: trace.fields = 'task_id,hash,process,name,status,submit,start,"
    "complete,realtime,cpus,memory,%cpu,peak_rss'",
}
#: answers that a coverage is told by
_JUDGED = 30
ADVICE_FILE = "advice.json"
NEXT_FILE = "measure-next.yaml"


@dataclass(frozen=True)
class StudyStep:
    """One step: what it is called, what it is for, and what its result depends on."""

    name: str
    why: str
    run: Callable[[Work], StepOutcome]
    #: settings of the plan that its result depends on
    settings: tuple[str, ...] = ()
    #: earlier steps whose result it reads
    after: tuple[str, ...] = ()
    #: files it makes, which go beside the report
    files: tuple[str, ...] = ()
    #: files of the plan that its result depends on: prices, cluster
    reads: tuple[str, ...] = ()


def lint_step(work: Work) -> StepOutcome:
    """Look for what is wrong with the trace."""
    from prophase.trace.lint import lint

    found = lint(work.workspace)
    counts = {kind: found.count(kind) for kind in ("error", "warning", "info")}
    rows = [
        {"severity": one.severity, "check": one.check, "where": one.place, "rows": one.rows,
         "what": one.explanation, "advice": one.advice}
        for one in found.findings
    ]  # fmt: skip
    text = [
        ", ".join(counted(number, kind) for kind, number in counts.items() if kind != "info") + "."
    ]
    finding = Finding("Is the trace sound?", text, [ResultTable(rows[:_SHOWN], "Worst first")])
    return StepOutcome(_part(finding), {"counts": counts, "findings": rows})


def describe_step(work: Work) -> StepOutcome:
    """Say what the trace looks like, and where requests and use part."""
    from prophase.trace.describe import NotComputable, describe

    found = describe(work.trace, random_state=work.plan.seed)
    facts, rows = [], list[dict[str, Any]]()
    if not isinstance(found.counts, NotComputable):
        facts.append(Measure("jobs", len(work.trace.jobs)))
    if not isinstance(found.utilisation, NotComputable):
        rows = [
            {"resource": one.resource, "used_pct": 100 * one.utilisation}
            for one in found.utilisation.resources
        ]
        facts += [
            Measure(f"{r['resource']}, of what was asked for", r["used_pct"], "%") for r in rows
        ]
    text = [
        "What jobs asked for and what they used, weighted by their run times. The rest is paid "
        "for and idle."
        if rows
        else "The trace does not tell what jobs used of what they asked for."
    ]
    silent = found.not_computable
    tables = [ResultTable(rows, "Used share of what was asked for")] if rows else []
    if silent:
        tables.append(
            ResultTable([{"part": n, "why": w} for n, w in silent.items()], "Not computable")
        )
    charts = [
        Chart("waste", "Used share of what was asked for", "bars", rows, x="resource",
              y=["used_pct"], unit="%", reference=100.0)
    ] if rows else []  # fmt: skip
    finding = Finding("Where the waste is", text, tables, charts)
    result = {"tables": dict(found.tables), "used": rows, "not_computable": silent}
    return StepOutcome(_part(finding, facts), result)


def profiles_step(work: Work) -> StepOutcome:
    """Group jobs by what they use."""
    from prophase.profile.clusters import WorkloadProfiler

    jobs = work.jobs
    work.need("cpu_mean_cores|cpu_peak_cores|memory_peak_gib|memory_mean_gib|gpu_util_mean_pct")
    done = jobs[jobs["status"] == "completed"] if "status" in jobs else jobs
    done = done if len(done) else jobs
    sample = done.sample(min(len(done), _PROFILED), random_state=work.plan.seed)
    profiler = WorkloadProfiler(random_state=work.plan.seed).fit(sample)
    kept = [one for one in profiler.profiles_ if not one.outliers]
    rows = [
        {"profile": one.profile, "jobs": one.n, "share_pct": 100 * one.share,
         "what": one.sentence().split("; ", 1)[-1]}
        for one in sorted(kept, key=lambda one: -one.n)
    ]  # fmt: skip
    text = [
        f"{counted(len(rows), 'kind')} of job among {len(sample):,} that were sampled: jobs that "
        "use resources alike make a profile."
    ]
    table = ResultTable(rows[:_SHOWN], "Profiles, largest first")
    facts = [Measure("profiles of use", len(rows))]
    return StepOutcome(_part(Finding("Which kinds of job there are", text, [table]), facts), {
        "profiles": rows, "sampled": len(sample),
    })  # fmt: skip


def predictions_step(work: Work) -> StepOutcome:
    """Judge predictions on the later part of the trace, as of each submission."""
    from prophase.profile.predict.evaluation import evaluate
    from prophase.trace.describe.part import has_values
    from prophase.trace.split import split_by_time

    plan, jobs = work.plan, work.jobs
    work.need("submit_s|start_s|submit_order", "|".join(plan.targets))
    try:
        split = split_by_time(jobs, test_share=plan.test_share)
    except ParameterError as cause:
        raise CannotDo(f"needs jobs that ended before later ones were submitted: {cause}") from None
    early, late = jobs.iloc[split.train], jobs.iloc[split.test]
    rows: list[dict[str, Any]] = []
    notes = list(split.notes)
    for target in plan.targets:
        if not has_values(jobs, target):
            notes.append(f"{target} is not predicted: no job of the trace has it.")
            continue
        for method in plan.methods:
            work.show(f"{target}, {method}", None)
            try:
                judged = evaluate(early, late, [method], target=target, online=True,
                                  random_state=plan.seed)  # fmt: skip
            except InputError as cause:
                notes.append(f"{target} is not predicted by {method}: {cause}")
                continue
            scores = judged.methods[method]
            rows.append(
                {"target": target, "method": method, "jobs": scores["jobs"] - scores["abstained"],
                 **{key: scores.get(key) for key in _SCORES}}
            )  # fmt: skip
    if not any(row["jobs"] for row in rows):
        raise CannotDo(
            f"needs a longer history: none of the {len(late):,} later jobs got an answer from the "
            f"{len(early):,} that had ended before. {' '.join(notes)}".rstrip()
        )
    best = next(row for row in rows if row["jobs"])
    name = f"{best['target']} within a factor of two"
    facts = [Measure(name, best["within_x2_pct"], "% of jobs")]
    text = [
        f"Learnt from the {len(early):,} earlier jobs, judged on {len(late):,} later ones, each "
        "answered as of its submission. A method must beat the medians, which learn nothing; the "
        "range of an answer is meant to hold 90 % of outcomes.",
        *_far_off(rows),
        *notes,
    ]
    finding = Finding("What will a job need?", text, [ResultTable(finite(rows), "Predictions")])
    return StepOutcome(_part(finding, facts), {"rows": finite(rows), "rule": split.rule})


def _far_off(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Warn of ranges that held much less than they are meant to."""
    return [
        f"The ranges of {row['method']} for {row['target']} held only {held:.0f} % of outcomes "
        "here: do not plan by them."
        for row in rows
        if row["jobs"] >= _JUDGED and (held := row["coverage_90_pct"]) is not None and held < 80
    ]


def sizing_step(work: Work) -> StepOutcome:
    """Advise what each task should ask for."""
    from prophase.study.proof.choosing import choose_kinds
    from prophase.study.proof.naming import with_kinds

    plan = work.plan
    resource = _resource(work)
    gate = Gate(plan.min_runs, plan.advise_above)
    work.show("which jobs are runs of the same thing", None)
    kind = plan.kind or choose_kinds(
        work.jobs, resource=resource, risk=plan.risk, gate=gate, seed=plan.seed
    )
    found = advise(
        with_kinds(work.jobs, kind, resource), risk=plan.risk, gate=gate,
        resource=resource, show=lambda percent: work.show("trying advice", percent),
    )  # fmt: skip
    document = {**json.loads(export(found, "json")), "kind": list(kind)}
    rows = finite(as_rows(found))
    kept = sum(one.keep for one in found.tasks)
    known = [one.saved_per_month for one in found.tasks if not one.keep]
    saved = sum(one for one in known if math.isfinite(one))
    text = [
        f"{counted(len(found.tasks) - kept, 'task')} of {len(found.tasks):,} should ask for "
        f"something else and would save {saved:,.0f} {found.unit} h a month; the others keep "
        "their request, each for the reason given.",
        f"Advice is per {' and '.join(kind)}. The whole of it is in {ADVICE_FILE}.",
    ]
    table = ResultTable(rows[:_ADVISED], f"In {found.unit}; those that save most first")
    facts = [Measure("tasks to resize", len(found.tasks) - kept)]
    finding = Finding("What to change", text, [table])
    return StepOutcome(
        _part(finding, facts),
        {
            "advised": len(found.tasks) - kept,
            "tasks": len(found.tasks),
            "kind": list(kind),
            "resource": resource,
            "unit": found.unit,
            "saved_h_per_month": saved,
        },
        {ADVICE_FILE: json.dumps(document, indent=2) + "\n"},
    )


def _resource(work: Work) -> str:
    """Return what can be sized on this trace."""
    from prophase.sizing.resources import RESOURCES
    from prophase.study.proof.given import PROVABLE

    named = work.plan.resource
    lacking = {}
    for name in ("memory", "gpu", "cpu") if named == "auto" else (named,):
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
    said = "; ".join(f"for {name} {columns}" for name, columns in lacking.items())
    raise CannotDo(
        f"needs requests and measured use of one resource; the trace lacks {said}. "
        + _MEASURED.get(work.trace.source, "Import a history that has them")
    )


def proof_step(work: Work) -> StepOutcome:
    """Replay the history with and without the advice."""
    from prophase.study.proof.given import advice_of
    from prophase.study.proof.proving import prove
    from prophase.study.proof.telling import proof_facts, proof_findings
    from prophase.workers import parse_workers

    plan = work.plan
    if "sizing" not in work.found:
        why = work.cannot.get("sizing", "it was left out")
        raise CannotDo(f"needs an advice, and the step sizing gave none: {why}")
    if not work.found["sizing"]["advised"]:
        raise CannotDo(
            "needs a task that should ask for something else; all keep their request, each for "
            f"the reason in {ADVICE_FILE}"
        )
    jobs = work.jobs
    if work.column("duration_s") and not (jobs["duration_s"] > 0).any():
        raise CannotDo("needs run times above zero: no job of the trace held anything for a while")
    proof = prove(
        jobs,
        advice_of(json.loads(work.files[ADVICE_FILE]), name=ADVICE_FILE),
        None if work.why_none_fits else work.cluster,
        limits=plan.limits,
        prices=plan.prices,
        risk=plan.risk,
        gate=Gate(plan.min_runs, plan.advise_above),
        splits=plan.splits,
        seeds=plan.seeds,
        fails_after=plan.kills_after,
        by=plan.by,
        policy=plan.policy,
        workers=parse_workers(plan.workers),
        seed=plan.seed,
        show=work.show,
    )
    mark = {"pass": "good", "fail": "bad", "undecided": "warning"}[proof.verdict.outcome]
    report = Report(
        "proof", question="", answer=proof.verdict.sentence(), verdict=mark,  # type: ignore[arg-type]
        facts=proof_facts(proof), findings=proof_findings(proof),
    )  # fmt: skip
    return StepOutcome(report, proof.to_dict())


def schedules_step(work: Work) -> StepOutcome:
    """Replay the later jobs in other orders, one of them by predictions."""
    from prophase.study.scheduling.comparing import schedule_study
    from prophase.study.scheduling.telling import schedule_findings, sentence
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
    report = Report("schedules", question="", answer=sentence(study),
                    findings=schedule_findings(study))  # fmt: skip
    return StepOutcome(report, study.to_dict())


def phases_step(work: Work) -> StepOutcome:
    """Find the phases of a few series of use."""
    from prophase.phase.detect import PhaseDetector

    if "usage" not in work.trace.tables:
        raise CannotDo(
            "needs a usage table (samples of use over time), which the trace does not have"
        )
    usage = work.trace.usage
    longest = usage["series_id"].value_counts().head(_SERIES).index
    few = usage[usage["series_id"].isin(longest)].groupby("series_id", sort=True).head(_SAMPLES)
    detector = PhaseDetector(random_state=work.plan.seed).fit(
        few, progress=lambda step, percent: work.show(step, percent)
    )
    rows = as_json(detector.statistics_.reset_index().to_dict("records"))
    text = [
        f"{counted(detector.n_phases_, 'phase')} in the {len(longest)} longest series: stretches "
        "in which a job uses resources alike. What a phase leaves unused could be given to others.",
        *detector.notes_,
    ]
    finding = Finding("What jobs do while they run", text, [ResultTable(rows, "Phases")])
    facts = [Measure("phases of use", detector.n_phases_)]
    return StepOutcome(_part(finding, facts), {"phases": rows, "series": len(longest)})


def next_step(work: Work) -> StepOutcome:
    """Name the jobs whose measurement is worth most."""
    from prophase.study.measuring.next_runs import next_runs, registration

    found = next_runs(work.jobs, count=max(work.plan.measure, 1), random_state=work.plan.seed)
    text = [
        f"What these kinds reserve in a month, in {found.unit} h, times how uncertain the "
        f"prediction of {found.target} is, over the root of the runs measured so far.",
        f"{NEXT_FILE} registers them: prophase runs register {NEXT_FILE} --dates 2026-01-05",
    ]
    table = ResultTable(found.rows(), "Kinds of job to measure next")
    part = _part(Finding("What to measure next", text, [table]))
    return StepOutcome(part, found.to_dict(), {NEXT_FILE: registration(found, "2000-01-01")})


def _part(finding: Finding, facts: Iterable[Measure] = ()) -> Report:
    return Report(finding.title, question="", facts=list(facts), findings=[finding])


_LEARNT = ("seed", "most_jobs")
_SIZED = ("resource", "kind", "risk", "min_runs", "advise_above")
#: every step after the import, in the order they run
STEPS: tuple[StudyStep, ...] = (
    StudyStep("lint", "what is wrong with the data would be wrong with the advice", lint_step),
    StudyStep("describe", "where requests and use part", describe_step, ("seed",)),
    StudyStep("profiles", "which kinds of job there are", profiles_step, _LEARNT),
    StudyStep("phases", "what jobs do while they run", phases_step, ("seed",)),
    StudyStep(
        "predictions",
        "how well needs are known before a job runs",
        predictions_step,
        (*_LEARNT, "methods", "targets", "test_share"),
    ),
    StudyStep(
        "sizing",
        "what each task should ask for",
        sizing_step,
        (*_LEARNT, *_SIZED),
        files=(ADVICE_FILE,),
    ),
    StudyStep(
        "proof",
        "the history replayed with and without the advice",
        proof_step,
        (
            *_LEARNT,
            *_SIZED,
            "max_oom",
            "min_saving",
            "max_longer_wait",
            "order",
            "place",
            "queue",
            "by",
            "seeds",
            "splits",
            "kills_after",
        ),
        ("sizing",),
        reads=("prices", "cluster"),
    ),
    StudyStep(
        "schedules",
        "what other queue orders would do",
        schedules_step,
        (*_LEARNT, "methods", "queue", "place", "by", "seeds"),
        reads=("cluster",),
    ),
    StudyStep("next", "what to measure next", next_step, (*_LEARNT, "measure"), files=(NEXT_FILE,)),
)


def steps_named(names: Iterable[str]) -> list[StudyStep]:
    """Return the steps of these names, in their order, with those they read."""
    wanted = set(names)
    known = {step.name: step for step in STEPS}
    for name in wanted:
        if name not in known:
            raise ParameterError(not_among(f"there is no step {name!r}.", name, known))
    if not wanted:
        return list(STEPS)
    wanted |= {before for name in wanted for before in known[name].after}
    return [step for step in STEPS if step.name in wanted]


def as_json(value: Any) -> Any:
    """Return a result as JSON gives it back, so that fresh and kept ones are the same."""
    return json.loads(json.dumps(finite(value), allow_nan=False, default=str))
