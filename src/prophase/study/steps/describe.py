"""Steps that look at the trace: is it sound, where is waste, which kinds and phases are there."""

from __future__ import annotations

from prophase import units
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.result import Chart, Fact, Section, Table
from prophase.study.steps.context import CannotDo, StepContext, StepOutcome, part
from prophase.trace.workspace_paths import PROFILES

_SHOWN = 12
#: series that phases are looked for in, and samples of each
_SERIES, _SAMPLES = 8, 1_000


def lint_step(work: StepContext) -> StepOutcome:
    """Look for what is wrong with the trace."""
    from prophase.trace.lint.linter import lint

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
    table = Table("lint", rows[:_SHOWN], "Worst first")
    section = Section.told("lint", "Is the trace sound?", text, [table])
    return StepOutcome(part(section), {"counts": counts, "findings": rows})


def describe_step(work: StepContext) -> StepOutcome:
    """Say what the trace looks like, and how far requests and use differ."""
    from prophase.trace.describe.column_arrays import NotComputable
    from prophase.trace.describe.description import describe

    found = describe(work.trace, random_state=work.plan.seed)
    facts, rows = [], list[JsonObject]()
    if not isinstance(found.counts, NotComputable):
        facts.append(Fact("jobs", "jobs", len(work.trace.jobs)))
    if not isinstance(found.utilisation, NotComputable):
        rows = [
            {"resource": one.resource, "used_pct": 100 * one.utilisation}
            for one in found.utilisation.resources
        ]
        facts += [
            Fact(f"used {r['resource']}", f"{r['resource']}, of what was asked for",
                 r["used_pct"], "%")
            for r in rows
        ]  # fmt: skip
    text = [
        "What jobs asked for and what they used, weighted by their run times. The rest is paid "
        "for and idle."
        if rows
        else "The trace does not say what jobs used of what they asked for."
    ]
    silent = found.not_computable
    tables = [Table("waste", rows, "Used share of what was asked for")] if rows else []
    if silent:
        why = [{"part": name, "why": reason} for name, reason in silent.items()]
        tables.append(Table("not_computable", why, "Not computable"))
    charts = [
        Chart("waste", "Used share of what was asked for", "bars", rows, x="resource",
              y=["used_pct"], unit="%", reference=100.0)
    ] if rows else []  # fmt: skip
    section = Section.told("waste", "Where the waste is", text, tables, charts)
    result = {"tables": dict(found.tables), "used": rows, "not_computable": silent}
    return StepOutcome(part(section, facts), result)


def profiles_step(work: StepContext) -> StepOutcome:
    """Tell which kinds of job there are: the profiles of the workspace, else the usual ones."""
    from prophase.profile.clusters.default_profiles import default_profiles, kept_profiles

    work.need("cpu_mean_cores|cpu_peak_cores|memory_peak_gib|memory_mean_gib|gpu_util_mean_pct")
    kept = kept_profiles(work.workspace / PROFILES, work.trace.jobs)
    profiler = kept or default_profiles(work.jobs, random_state=work.plan.seed)
    kinds = [one for one in profiler.profiles_ if not one.outliers]
    rows = [
        {
            "profile": one.name,
            "jobs": one.n,
            "share_pct": 100 * one.share,
            "what": one.sentence().split("; ", 1)[-1],
        }
        for one in sorted(kinds, key=lambda one: -one.n)
    ]
    learnt_from = len(profiler.labels_)
    alone = 1 - sum(one.n for one in kinds) / learnt_from
    text = [
        f"{counted(len(rows), 'kind')} of job, learnt from {counted(learnt_from, 'job')}: jobs "
        "that use resources alike make a profile."
    ]
    if alone > 0:
        text.append(f"{units.percent(alone)} of them are like too few others to be of a kind.")
    table = Table("profiles", rows[:_SHOWN], "Profiles, largest first")
    section = Section.told("profiles", "Which kinds of job there are", text, [table])
    facts = [Fact("profiles", "profiles of use", len(rows))]
    return StepOutcome(part(section, facts), {"profiles": rows, "sampled": learnt_from})


def phases_step(work: StepContext) -> StepOutcome:
    """Find the phases of a few series of use."""
    from prophase.phase.detector import PhaseDetector

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
    rows = finite(detector.statistics_.reset_index().to_dict("records"))
    text = [
        f"{counted(detector.n_phases_, 'phase')} in the {len(longest)} longest series: stretches "
        "in which a job uses resources alike. What a phase leaves unused could be given to others.",
        *detector.notes_,
    ]
    table = Table("phases", rows, "Phases")
    section = Section.told("phases", "What jobs do while they run", text, [table])
    facts = [Fact("phases", "phases of use", detector.n_phases_)]
    return StepOutcome(part(section, facts), {"phases": rows, "series": len(longest)})
