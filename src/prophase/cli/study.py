"""prophase study: the whole loop, from a trace to a proven recommendation and its report."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    progress_bar,
    say,
    show_result,
    typed_command,
)
from prophase.cli.replay_options import ClusterOption
from prophase.cli.shared_options import MOST_JOBS, SEED, SEEDS, WORKERS, PricesOption
from prophase.cli.sizing_options import (
    MIN_MEMORY,
    PRIOR,
    GroupOption,
    MaxOomOption,
    MinSavingOption,
    RiskOption,
    parse_min_memory,
)
from prophase.cli.trace_options import MAX_BAD, MappingOption, SourceOption
from prophase.errors import InputError, StorageError
from prophase.result import Table

if TYPE_CHECKING:
    from prophase.study.pipeline import StepDone
    from prophase.study.plan import StudyPlan
    from prophase.study.steps.registry import StudyStep


#: less is not worth a word
_WORTH_SAYING_S = 5.0


@dataclass(frozen=True)
class PlanSettings:
    """What a plan says, too; what is left out is the plan's, or as usual."""

    cluster: ClusterOption = None
    prices: PricesOption = None
    max_oom: MaxOomOption = None
    min_saving: MinSavingOption = None
    risk: RiskOption = None
    seeds: Annotated[int | None, SEEDS] = None
    steps: Annotated[
        str | None, typer.Option(help="Only these steps, joined by commas, and what they need.")
    ] = None
    most_jobs: Annotated[int | None, MOST_JOBS] = None
    workers: Annotated[str | None, WORKERS] = None
    seed: Annotated[int | None, SEED] = None
    mapping: MappingOption = None
    max_bad: Annotated[str | None, MAX_BAD] = None
    source: SourceOption = None
    by: GroupOption = None
    prior: Annotated[str | None, PRIOR] = None
    min_memory: Annotated[str | None, MIN_MEMORY] = None

    def changed(self, plan: StudyPlan) -> StudyPlan:
        """Return the plan with what is given here."""

        from prophase.sizing.wider_level import known_prior

        def share(text: str | None, option: str) -> float | None:
            return None if text is None else units.parse_share(text, where=option)

        return plan.changed(
            source=self.source,
            options=None if self.mapping is None else {"map": str(self.mapping)},
            max_bad=share(self.max_bad, "--max-bad"),
            cluster=self.cluster,
            prices=None if self.prices is None else str(self.prices),
            max_oom=share(self.max_oom, "--max-oom"),
            min_saving=share(self.min_saving, "--min-saving"),
            risk=share(self.risk, "--risk"),
            seeds=self.seeds,
            steps=None
            if self.steps is None
            else tuple(one.strip() for one in self.steps.split(",")),
            most_jobs=self.most_jobs,
            workers=self.workers,
            seed=self.seed,
            prior=None if self.prior is None else known_prior(self.prior, where="--prior"),
            min_memory_gib=None if self.min_memory is None else parse_min_memory(self.min_memory),
            kind=None if self.by is None else tuple(one.strip() for one in self.by.split(",")),
        )


def command(
    asked: PlanSettings,
    path: Annotated[
        Path | None,
        typer.Argument(help="A plan (.toml), a workspace, or a file or folder of a trace."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for results, and for a trace in raw files their workspace. "
            "[default: NAME-study, here; a workspace keeps its own]"
        ),
    ] = None,
    write_plan: Annotated[
        Path | None, typer.Option(help="Write the plan with every setting there, and stop.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Run the whole loop: import, lint, describe, profiles, predictions, sizing, proof, report.

    What was recognised, by what jobs are grouped and which units were taken is said first. Every
    step is kept by what went into it: a second run does only what has changed, and after a failure
    the same command resumes. What the trace lacks is named once. The report,
    the recommendation and what to measure next are in reports/study of the workspace.

    Examples:

    `prophase study ws --cluster nodes.csv --max-oom 1% --min-saving 20%`

    `prophase study trace.csv --prices prices.toml --out my-study`

    `prophase study jobs.csv --map mapping.toml`

    `prophase study ws --write-plan plan.toml`

    `prophase study plan.toml`
    """
    from prophase.plots.result_files import write_report
    from prophase.study.closing import closing
    from prophase.study.pipeline import StepFailedError, Watching, run_study
    from prophase.study.steps.registry import steps_named

    plan = asked.changed(_plan(path))
    if write_plan is not None:
        _write_plan(plan, write_plan)
        return
    with progress_bar() as show:
        try:
            progress = _Progress([step.name for step in steps_named(plan.steps)])
            watching = Watching(progress.begin, progress.end, show, tell=_recognised)
            found = run_study(plan, out=out, command=typed_command(), watching=watching)
        except KeyboardInterrupt:
            say("Interrupted. Finished steps are kept. Run the same command again to resume.")
            raise typer.Exit(130) from None
        show("writing the report", None)
        try:
            page = write_report(found.report, found.folder)
        except StorageError as cause:
            finished = [one.name for one in found.steps if one.state != "cannot"]
            raise StepFailedError("report", "the last", cause, finished) from cause
    in_short = format is Format.table
    result = replace(
        found.report,
        tables=[] if in_short else [Table("steps", found.rows())],
        sections=[] if in_short else found.report.sections,
        notes=closing(found, page),
        values=found.to_dict(),
    )
    show_result(result, format)


def _recognised(line: str) -> None:
    say(f"     {line}")


def _plan(path: Path | None) -> StudyPlan:
    from prophase.study.plan import StudyPlan, read_plan
    from prophase.trace.workspace import Workspace

    if path is not None and path.suffix == ".toml":
        return read_plan(path)
    if path is None:
        path = Path()
        if not Workspace.is_at(path):
            raise InputError(
                "this folder is no workspace. Name a plan, a workspace or a file of a trace: "
                "prophase study trace.csv"
            )
    return StudyPlan(str(path))


def _write_plan(plan: StudyPlan, path: Path) -> None:
    from prophase.atomic_files import write_whole
    from prophase.study.plan import plan_text

    if path.exists():
        raise InputError(f"{path}: is there already. Name another file, or remove it.")
    # paths of a plan are relative to its file
    beside = {
        name: str(Path(value).resolve())
        for name in ("trace", "prices", "cluster")
        if (value := getattr(plan, name)) is not None and Path(value).exists()
    }
    write_whole(path, plan_text(plan.changed(**beside)))
    say(f"Wrote {path}. Next: prophase study {as_typed(path)}")


#: how long steps take beside each other, measured on traces of a few thousand jobs
_WEIGHTS = {"import": 12, "lint": 2, "describe": 15, "profiles": 8, "phases": 5, "predictions": 40,
            "sizing": 3, "proof": 10, "schedules": 10, "next": 8}  # fmt: skip
_USUAL = 5


def _roughly(seconds: float) -> str:
    """Write a time that nobody knows to the second."""
    if seconds < 60:
        return f"about {5 * math.ceil(seconds / 5)} s"
    return f"about {math.ceil(seconds / 60)} min"


class _Progress:
    """Says each step as it starts, with the time that is probably left."""

    def __init__(self, names: Sequence[str]) -> None:
        self.began = time.monotonic()
        self.ahead = {name: _WEIGHTS.get(name, _USUAL) for name in ("import", *names)}
        self.done = 0

    def begin(self, number: int, total: int, step: StudyStep) -> None:
        """Say which step starts; a step weighs as much as it usually takes."""
        left = ""
        if self.done:
            seconds = (time.monotonic() - self.began) * sum(self.ahead.values()) / self.done
            if seconds >= _WORTH_SAYING_S:
                left = f" ({_roughly(seconds)} left)"
        say(f"{number}/{total}  {step.name}: {step.why}{left}")

    def end(self, done: StepDone) -> None:
        """Say how it went, if that is worth a line."""
        self.done += self.ahead.pop(done.name, _USUAL)
        if done.state == "kept":
            say("     kept from an earlier run")
        elif done.state == "cannot":
            # what the trace lacks is said once, at the end
            say("     skipped")
        elif sys.stderr.isatty():
            say(f"     {done.seconds:.1f} s")
