"""The report of a whole study: the results of its steps, and what could not be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from prophase.json_types import JsonMapping
from prophase.plural import as_typed, counted
from prophase.result import (
    DataUsed,
    Fact,
    NextStep,
    Provenance,
    Result,
    Section,
    Table,
    Tone,
)
from prophase.sizing.exports import engine_of
from prophase.sizing.resources import RESOURCES
from prophase.study.plan import StudyPlan
from prophase.study.steps.context import StepContext
from prophase.study.steps.import_trace import import_notes
from prophase.study.steps.predict import NEXT_FILE
from prophase.study.steps.size import RECOMMENDATION_FILE
from prophase.study.study_answers import answers, monday, sentence_of
from prophase.study.study_findings import for_first_reader
from prophase.study.study_front import front_facts, section_commands

#: checks of lint that doubt a unit
_UNITS = ("fraction-as-percent", "percent-as-fraction", "core-unit", "memory-unit")


def study_result(
    plan: StudyPlan,
    parts: Mapping[str, Result],
    work: StepContext,
    *,
    command: str = "",
) -> Result:
    """Join the results of the steps into one."""
    cannot, commands = work.cannot, section_commands(work)
    sections = [section for part in parts.values() for section in part.all_sections()]
    if cannot:
        rows = [{"step": name, "why": why} for name, why in cannot.items()]
        words = "The trace lacks what these steps need. Add it and run the study again."
        table = Table("cannot", rows, "Left out, and what is missing")
        sections.append(Section.told("cannot", "What could not be done", [words], [table]))
    # of a table of one's own the file says more than how it was read
    subject = Path(plan.trace).name if work.trace.source == "csv" else work.trace.source
    return Result(
        "study",
        title=f"Study of {subject}",
        question="Where is the waste, what should change, what does that risk, what does it do to "
        "waiting times, and how sure is that?",
        answer=_answer(parts, work),
        tone=_tone(parts.get("proof"), work),
        facts=_facts(parts),
        data=_data(work),
        method=[
            "Each step reads the same tables; models are tested on jobs later than those they were "
            "trained on, and nothing that is known only afterwards is used to predict.",
            *(f"{name}: {fact.label} {fact.text()}." for name, fact in _scores(parts)),
        ],
        sections=[
            replace(one, command=commands.get(one.key, ""))
            for one in for_first_reader(sections, work.found)
        ],
        valid_for=["the jobs, cluster and policy of this trace, and jobs like them"],
        not_valid_for=["jobs that are not in it, another cluster, another mix of jobs"],
        limits=_limits(plan, work, cannot),
        next_steps=_steps(parts, work),
        provenance=Provenance(
            command or "prophase study plan.toml", {"all steps": plan.seed}, plan.to_dict()
        ),
        front=front_facts(work),
        answers=[
            replace(one, command=commands.get(one.section, ""))
            for one in answers(work.found, cannot)
        ],
    )


def _answer(parts: Mapping[str, Result], work: StepContext) -> str:
    said = [parts[name].answer for name in ("proof", "schedules") if name in parts]
    if "proof" not in parts:
        reason = sentence_of(work.cannot.get("proof", "it was not asked for"))
        said.insert(0, f"No recommendation is proven: {reason}")
        if not work.found.get("sizing", {}).get("requested", True):
            said = [*(one.text for one in monday(work.found)), *said]
    if errors := len(_errors(work)):
        said.insert(
            0,
            f"The data look wrong in {counted(errors, 'place')} (see the limits): correct that "
            "before you trust the rest.",
        )
    return " ".join(one for one in said if one)


def _tone(proof: Result | None, work: StepContext) -> Tone:
    """Nothing passes on data that look wrong."""
    if proof is None:
        return "note"
    return "warning" if proof.tone == "good" and _errors(work) else proof.tone


def _facts(parts: Mapping[str, Result]) -> list[Fact]:
    wanted = ("describe", "sizing", "proof", "predictions")
    facts = [fact for name in wanted if name in parts for fact in parts[name].facts]
    return list({fact.key: fact for fact in facts}.values())[:8]


def _scores(parts: Mapping[str, Result]) -> list[tuple[str, Fact]]:
    return [(name, fact) for name in ("predictions",) if name in parts
            for fact in parts[name].facts]  # fmt: skip


def _data(work: StepContext) -> list[DataUsed]:
    trace = work.trace
    return [
        DataUsed(f"{name} ({trace.source})", len(table), trace.data_hash)
        for name, table in trace.tables.items()
    ]


def _limits(plan: StudyPlan, work: StepContext, cannot: Mapping[str, str]) -> list[str]:
    said = [_unsound(one) for one in _errors(work)]
    said += import_notes(work.workspace)
    jobs = work.trace.tables.get("jobs")
    if jobs is not None and len(jobs) > plan.most_jobs:
        said.append(
            f"Only the latest {plan.most_jobs:,} of {len(jobs):,} jobs were used for training and "
            "replay (most_jobs)."
        )
    if jobs is not None and "sizing" in work.found and not work.column("duration_s"):
        said.append(NO_RUN_TIMES)
    if cannot:
        said.append(f"Left out for lack of data: {', '.join(cannot)}.")
    return said


def _errors(work: StepContext) -> list[JsonMapping]:
    """Return what makes all numbers after it as wrong as the data are.

    That is what lint calls an error, and a unit it doubts of what was sized.
    """
    what = RESOURCES.get(work.found.get("sizing", {}).get("resource", ""))
    sized = [f"jobs.{one}" for one in (what.request_column, what.use_column)] if what else []
    return [
        one
        for one in work.found.get("lint", {}).get("findings", [])
        if one["severity"] == "error" or (one["check"] in _UNITS and one["where"] in sized)
    ]


def _unsound(one: JsonMapping) -> str:
    return f"The data look wrong ({one['check']}, {one['where']}): {one['what']} {one['advice']}"


NO_RUN_TIMES = "The trace has no run times: every run counts as one hour."


def _steps(parts: Mapping[str, Result], work: StepContext) -> list[NextStep]:
    steps = []
    here, place = as_typed(work.workspace), as_typed(work.folder)
    sized = work.found.get("sizing", {})
    verdict = work.found.get("proof", {}).get("verdict", {})
    if sized.get("advised") and verdict.get("outcome") != "fail":
        resource = "" if sized["resource"] == "memory" else f" --resource {sized['resource']}"
        risk = "" if work.plan.risk == 0.01 else f" --risk {work.plan.risk:g}"
        steps.append(
            NextStep("Export the recommendation for your system:",
                 f"prophase size {here}{resource}{risk} --export "
                 f"{engine_of(work.trace.source)}")
        )  # fmt: skip
        steps.append(
            NextStep("Keep it in the ledger, to compare it later with what happens:",
                 f"prophase ledger add {place}/{RECOMMENDATION_FILE} --workspace {here}")
        )  # fmt: skip
    if "next" in parts:
        steps.append(
            NextStep("Measure what is least certain and most expensive:",
                 f"prophase runs register {place}/{NEXT_FILE} --dates {work.last_day}")
        )  # fmt: skip
    return steps
