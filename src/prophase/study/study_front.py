"""What stands first in a study's report, and the command behind each of its numbers."""

from __future__ import annotations

from shlex import join

from prophase import units
from prophase.json_types import JsonMapping
from prophase.plural import counted
from prophase.result import Fact
from prophase.stats import Estimate
from prophase.study.steps.context import StepContext
from prophase.study.steps.size import RECOMMENDATION_FILE
from prophase.trace.describe.column_arrays import NotComputable
from prophase.trace.describe.trace_clock import TimeSpan, date_of, moment_words, span_of

#: sections that come from the proof
_PROVEN = ("saved", "kept", "waits", "tasks")


def front_facts(work: StepContext) -> list[Fact]:
    """Return when the history is from, how large the cluster is, and what is saved in money."""
    facts = []
    span = _span(work)
    if span is not None:
        length = units.duration(span.last_s - span.first_s)
        facts.append(Fact("history", "history", f"{_day(span, span.first_s)} to "
                          f"{_day(span, span.last_s)} ({length})"))  # fmt: skip
    if "jobs" in work.trace.tables:
        facts.append(Fact("jobs", "jobs", len(work.trace.jobs)))
    if (size := _cluster(work)) is not None:
        facts.append(Fact("cluster", "cluster", size))
    money = _money(work.found.get("proof", {}))
    return [*facts, *([money] if money is not None else [])]


def _span(work: StepContext) -> TimeSpan | None:
    if "jobs" not in work.trace.tables:
        return None
    found = span_of(work.trace.jobs, work.trace.clock)
    return None if isinstance(found, NotComputable) else found


def _day(span: TimeSpan, time_s: float) -> str:
    """Write a day of the history: a date, or the day of a clock without dates."""
    date = date_of(time_s, span.clock)
    return f"{date:%Y-%m-%d}" if date is not None else moment_words(time_s, span.clock)


def _cluster(work: StepContext) -> str | None:
    cluster = None if "jobs" not in work.trace.tables else work.cluster
    if cluster is None:
        return None
    parts = [counted(len(cluster), "node")]
    if cluster.gpus:
        parts.append(counted(cluster.gpus, "GPU"))
    nodes = cluster.nodes
    if "cpu_cores" in nodes and nodes["cpu_cores"].notna().any():
        parts.append(f"{units.number(float(nodes['cpu_cores'].sum()))} cores")
    return ", ".join(parts)


def _money(proof: JsonMapping) -> Fact | None:
    """Return what the recommendation saves of the cost of the whole history."""
    cost = next((one for one in proof.get("totals", ()) if one["name"] == "cost"), None)
    if cost is None or not cost["today"]:
        return None
    share = cost["saved"]
    ends = [None if share.get(k) is None else share[k] * cost["today"] for k in ("low", "high")]
    saved = cost["today"] - cost["advised"]
    low, high = ends
    value = Estimate(saved, low, high) if low is not None and high is not None else saved
    unit, _, how = str(cost["unit"]).partition(" at ")
    label = f"saved of {cost['today']:,.0f} {unit}" + (f", at {how} (--prices)" if how else "")
    return Fact("money", label, value, unit)


def section_commands(work: StepContext) -> dict[str, str]:
    """Return section -> the command that makes its numbers."""
    plan, place = work.plan, str(work.workspace)
    cluster = [] if plan.cluster is None else ["--cluster", plan.cluster]
    sized = work.found.get("sizing", {})
    limits = ["--max-oom", f"{plan.max_oom:g}", "--min-saving", f"{plan.min_saving:g}"]
    gate = ["--task-min-saving", f"{plan.advise_above:g}", "--min-runs", str(plan.min_runs)]
    proof = [
        "prove", str(work.folder / RECOMMENDATION_FILE), "--workspace", place, *limits, *gate,
        "--splits", str(plan.splits), "--seeds", str(plan.seeds), *cluster,
    ]  # fmt: skip
    methods = ["--methods", ",".join(plan.methods)]
    evaluate = ["evaluate", place, "--target", plan.targets[0], *methods] if plan.targets else []
    typed = {
        "waste": ["describe", place],
        "change": ["size", place, "--resource", str(sized.get("resource", "auto")),
                   "--risk", f"{plan.risk:g}", *gate],
        **dict.fromkeys(_PROVEN, proof),
        "policies": ["schedule-study", place, *methods, "--seeds", str(plan.seeds), *cluster],
        "predictions": evaluate,
        "scores": evaluate,
        "profiles": ["profile", "fit", place],
        "phases": ["phase", "fit", place],
        "next": ["next", "measure", place, "--count", str(plan.measure)],
        "lint": ["lint", place],
    }  # fmt: skip
    return {key: join(["prophase", *words]) for key, words in typed.items() if words}
