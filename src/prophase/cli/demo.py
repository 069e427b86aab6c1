"""prophase demo: the main job on built-in data, from nothing to a proven recommendation."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    finite,
    progress_bar,
    say,
    show_result,
    typed_command,
)
from prophase.cli.shared_options import SeedOption
from prophase.errors import MissingExtraError
from prophase.result import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from prophase.cli.demo_data import DemoSize
    from prophase.result import Answer, Result, Section
    from prophase.study.pipeline import StepDone, StudyResult
    from prophase.study.steps.registry import StudyStep

#: the report, where a newcomer finds it
PAGE = "report.html"
#: what the demo does itself before and after the steps of the study
_FIRST, _LAST = 1, 3
#: the resource whose waste is largest on such a cluster, and what the verdict is about
_PLAN = {"resource": "gpu", "advise_above": 0.2, "max_oom": 0.05, "min_saving": 0.1}

#: makes a history whose days are alike; with some others one huge job fills the first days
_SEED = 3


def command(
    folder: Annotated[Path, typer.Argument(help="Workspace to make.")] = Path("demo"),
    quick: Annotated[bool, typer.Option("--quick", help="Smaller, and done in seconds.")] = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Start the dashboard on it at the end.")
    ] = False,
    seed: SeedOption = _SEED,
    format: FormatOption = Format.table,
) -> None:
    """Show what Prophase does, offline and on data it makes itself.

    Builds a GPU-cluster trace like Alibaba's PAI, checks it, groups its jobs into profiles,
    predicts what jobs need, right-sizes their requests, proves the recommendation on the history,
    replays other queue orders, finds phases in running containers, and writes one
    self-contained report.

    Examples:

    `prophase demo my-demo --quick`

    `prophase demo --serve`, and open the address it prints.
    """
    from prophase.cli.demo_data import FULL, QUICK

    with progress_bar() as show:
        found, report = make_demo(folder, QUICK if quick else FULL, seed, show)
    page = folder / PAGE
    rows = [{"question": one.question, "answer": _in_short(one)} for one in report.answers]
    values = {
        "report": str(page),
        "answers": [asdict(one) for one in report.answers],
        **found.to_dict(),
    }
    told = replace(
        report,
        tables=[Table("answers", rows)],
        notes=_closing(found, page, folder),
        values=finite(values),
    )
    show_result(told, format)
    if serve:
        _serve(folder)


def make_demo(
    folder: Path, size: DemoSize, seed: int, show: Callable[[str, float | None], None]
) -> tuple[StudyResult, Result]:
    """Fill a workspace with all that the demo shows: tables, models, requests and reports."""
    from prophase.cli.demo_data import make_tables, refuse_other_tables
    from prophase.cli.demo_report import demo_result
    from prophase.plots.result_files import write_report

    refuse_other_tables(folder)
    total = _FIRST + len(size.plan["steps"]) + _LAST
    say(
        f"1/{total}  making {size.jobs:,} jobs over {size.days:g} days, a cluster to match, "
        "and a few containers"
    )
    usage = make_tables(folder, size, seed, typed_command())
    with suppress(MissingExtraError):
        # kept before the study, so that its report and the dashboard tell of the same profiles;
        # the study says what is missing
        _learn_profiles(folder, seed, show)
    found = _study(folder, size, seed, total, show)
    say(f"{total - 2}/{total}  phases: what containers do now, and what comes next")
    phases: Section | None = None
    try:
        from prophase.cli.demo_report import phase_section

        phases = phase_section(usage, folder, seed)
    except MissingExtraError as cause:
        say(f"     left out: {cause}")
    say(f"{total - 1}/{total}  models: to predict new jobs")
    _learn(folder, seed, show)
    say(f"{total}/{total}  report: what to attach to a decision")
    report = demo_result(found, phases, folder, typed_command())
    page = write_report(report, folder / "reports" / "demo")
    shutil.copyfile(page, folder / PAGE)
    return found, report


def _serve(folder: Path) -> None:
    """Start the dashboard as ``prophase serve --open`` does."""
    from prophase.cli.main import app

    app(args=["serve", "start", str(folder), "--open"], prog_name="prophase")


def _study(
    folder: Path, size: DemoSize, seed: int, total: int, show: Callable[[str, float | None], None]
) -> StudyResult:
    from prophase.study.pipeline import Watching, run_study
    from prophase.study.plan import StudyPlan

    def begin(number: int, of: int, step: StudyStep) -> None:
        # the first step is the import, and these tables are there already
        if number > 1:
            say(f"{number}/{total}  {step.name}: {step.why}")

    def end(done: StepDone) -> None:
        if done.state == "cannot":
            say(f"     left out: {done.reason}")

    plan = StudyPlan(str(folder), seed=seed, **_PLAN, **size.plan)  # type: ignore[arg-type]
    return run_study(plan, watching=Watching(begin, end, show), command=typed_command())


def _learn_profiles(folder: Path, seed: int, show: Callable[[str, float | None], None]) -> None:
    """Keep the usual profiles of the jobs, unless the workspace has some of these jobs."""
    from prophase.profile.clusters.default_profiles import default_profiles, kept_profiles
    from prophase.trace.workspace import Workspace
    from prophase.trace.workspace_paths import PROFILES

    show("learning profiles", None)
    jobs = Workspace(folder).read("jobs")
    if kept_profiles(folder / PROFILES, jobs) is None:
        default_profiles(jobs, random_state=seed).save(folder / PROFILES)


def _learn(folder: Path, seed: int, show: Callable[[str, float | None], None]) -> None:
    """Leave the models that ``ask`` and the dashboard answer from."""
    from prophase.study.workspace_models import learn_models

    # the method whose model is learnt in seconds; every door answers from the one that is kept
    targets = ["duration_s", "memory_peak_gib", "gpu_util_mean_pct"]
    learn_models(folder, targets, method="backoff-median", seed=seed, show=show)


def _in_short(one: Answer) -> str:
    """Return an answer with the first sentence about it."""
    first = one.text.partition(". ")[0].partition("; ")[0]
    # a sentence of its own, or the rest of one that begins with the value
    between = ". " if first[:1].isupper() else " "
    return f"{one.value}{between}{first}".strip().rstrip(".")


def _closing(found: StudyResult, page: Path, folder: Path) -> list[str]:
    """Return the verdict and the next commands."""
    from prophase.cli.demo_report import limits_held

    here = as_typed(folder)
    return [
        limits_held(found),
        "",
        f"Report: {page} (open it in a browser)",
        "",
        "Next, your own history:",
        "  prophase import list                        pick its source, or let it be guessed:",
        "  prophase study my-trace.csv --cluster nodes.csv",
        f"  prophase serve {here} --open".ljust(46) + "this one in a browser",
    ]
