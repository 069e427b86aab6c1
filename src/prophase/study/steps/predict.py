"""Steps about what is known before a job runs, and which jobs to measure to know more."""

from __future__ import annotations

from collections.abc import Iterable

from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.result import Fact, Section, Table
from prophase.study.steps.context import CannotDo, StepContext, StepOutcome, part

_SCORES = ("median_ape_pct", "within_20_pct", "within_x2_pct", "r2_log", "coverage_90_pct")
#: answers that a coverage is told by
_JUDGED = 30
NEXT_FILE = "measure-next.yaml"


def predictions_step(work: StepContext) -> StepOutcome:
    """Judge predictions on the later part of the trace, as of each submission."""
    from prophase.profile.predict.evaluation import evaluate
    from prophase.trace.describe.column_arrays import has_values
    from prophase.trace.split import split_by_time

    plan, jobs = work.plan, work.jobs
    work.need("submit_s|start_s|submit_order", "|".join(plan.targets))
    try:
        split = split_by_time(jobs, test_share=plan.test_share)
    except ParameterError as cause:
        raise CannotDo(f"needs jobs that ended before later ones were submitted: {cause}") from None
    early, late = jobs.iloc[split.train], jobs.iloc[split.test]
    rows: list[JsonObject] = []
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
    facts = [Fact("predicted", name, best["within_x2_pct"], "% of jobs")]
    text = [
        f"Trained on the {len(early):,} earlier jobs, tested on {len(late):,} later ones, each "
        "predicted at its submission. A method must beat the medians, which learn nothing; the "
        "range of a prediction should contain 90 % of outcomes.",
        *_far_off(rows),
        *notes,
    ]
    table = Table("predictions", finite(rows), "Predictions")
    section = Section.told("predictions", "What will a job need?", text, [table])
    return StepOutcome(part(section, facts), {"rows": finite(rows), "rule": split.rule})


def _far_off(rows: Iterable[JsonMapping]) -> list[str]:
    """Warn of ranges with much less coverage than stated."""
    return [
        f"The 90 % ranges of {row['method']} for {row['target']} contain only {held:.0f} % of "
        "outcomes here: do not rely on them."
        for row in rows
        if row["jobs"] >= _JUDGED and (held := row["coverage_90_pct"]) is not None and held < 80
    ]


def next_step(work: StepContext) -> StepOutcome:
    """Name the jobs whose measurement is worth most."""
    from prophase.study.measurement_plan import month_in_words, next_runs, registration

    found = next_runs(work.jobs, count=max(work.plan.measure, 1), random_state=work.plan.seed)
    text = [
        f"What these kinds reserve in a month, in {found.unit} h, times how uncertain the "
        f"prediction of {found.target} is, over the root of the runs measured so far; "
        f"{month_in_words(found)}.",
        f"{NEXT_FILE} registers them: prophase runs register {NEXT_FILE} --dates {work.last_day}",
    ]
    table = Table("next", found.rows(), "Kinds of job to measure next")
    return StepOutcome(
        part(Section.told("next", "What to measure next", text, [table])),
        found.to_dict(),
        {NEXT_FILE: registration(found, "2000-01-01")},
    )
