"""prophase demo: the main job on built-in data, from nothing to a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, emit, finite, say, typed_command
from prophase.errors import MissingExtraError
from prophase.plural import counted

if TYPE_CHECKING:
    from prophase.cli.demo_steps import Predicted
    from prophase.plots.page import Section
    from prophase.trace.describe import Description
    from prophase.trace.loading import Trace

#: what the demo's tables say they come from; a folder with others is not touched
_SOURCE = "demo"
#: jobs and days of the built-in trace
_FULL, _QUICK = (60_000, 14.0), (8_000, 3.0)
_SHOWN_PROFILES = 12


def command(
    folder: Annotated[Path, typer.Argument(help="Workspace to make.")] = Path("demo"),
    quick: Annotated[bool, typer.Option("--quick", help="A smaller trace, in seconds.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the trace.")] = 0,
    format: FormatOption = Format.table,
) -> None:
    """Show what Prophase does, offline and on data it makes itself.

    Builds a GPU-cluster trace like Alibaba's PAI, checks it, describes it, groups its jobs
    into profiles, predicts how long jobs run, replays it under several queue orders, one of
    them by these predictions, and writes one self-contained page.

    Example: `prophase demo my-demo --quick`
    """
    from prophase.cli.demo_steps import group_jobs, predict_durations, replay
    from prophase.trace.describe import describe

    _refuse_other_tables(folder)
    jobs, days = _QUICK if quick else _FULL
    say(f"1/6  making a trace of {jobs:,} jobs over {days:g} days, and a cluster to match")
    trace = _make(folder, jobs, days, seed)
    say("2/6  looking for what is wrong with it")
    found = _lint(folder)
    say("3/6  describing it: arrivals, run times, waste, recurrence, laws that fit")
    description = describe(trace)
    profiles, predicted = [], None
    try:
        say("4/6  grouping its jobs by what they use")
        profiles = group_jobs(trace.jobs)
        say("5/6  predicting how long jobs run, from what is known when they are submitted")
        predicted = predict_durations(trace.jobs)
    except MissingExtraError as cause:
        say(f"     left out: {cause}")
    say("6/6  replaying it: what would other queue orders do?")
    schedules = replay(trace, predicted)
    page = folder / "report.html"
    _write_report(description, profiles, predicted, schedules, page)
    waste = _use_of_request(description)
    emit(
        schedules,
        format,
        document=finite(
            {
                "lint": found,
                "use_of_request": waste,
                "profiles": profiles,
                "predictions": predicted.scores if predicted else [],
                "replay": schedules,
            }
        ),
        remarks=[
            f"lint: {counted(found['errors'], 'error')}, {counted(found['warnings'], 'warning')}",
            *(f"use of what was asked for: {name} {pct:.0f} %" for name, pct in waste.items()),
            *([f"profiles: {counted(len(profiles), 'kind')} of job"] if profiles else []),
            *([predicted.sentence()] if predicted else []),
            f"report: {page}",
            "",
            f"Next: open {page} in a browser",
            "      prophase import list                      your own history: pick its source",
            "      prophase import csv jobs.csv --guess      or let a mapping be proposed",
        ],
    )


def _refuse_other_tables(folder: Path) -> None:
    """Stop before the demo would replace tables that are the user's own."""
    from prophase.errors import WorkspaceError
    from prophase.trace.workspace import Workspace

    held = Workspace(folder).tables.values() if Workspace.is_at(folder) else ()
    for entry in held:
        if entry.source != _SOURCE:
            raise WorkspaceError(
                f"{folder}: already has {entry.name} from {entry.source} "
                f"({counted(entry.rows, 'row')}), "
                "which the demo would replace. Choose a new folder: prophase demo FOLDER"
            )


def _make(folder: Path, jobs: int, days: float, seed: int) -> Trace:
    from prophase.trace.synth import make_pai, tables_to_store
    from prophase.trace.workspace import Workspace

    trace = make_pai(jobs, days=days, random_state=seed)
    Workspace.create(folder).store_frames(
        tables_to_store(trace),
        source=_SOURCE,
        source_hash=trace.data_hash,
        command=typed_command(),
        clock=trace.clock,
        seed=seed,
        replace=True,
    )
    return trace


def _lint(folder: Path) -> dict[str, int]:
    from prophase.trace.lint import lint

    findings = lint(folder).findings
    return {
        f"{severity}s": sum(finding.severity == severity for finding in findings)
        for severity in ("error", "warning", "info")
    }


def _use_of_request(description: Description) -> dict[str, float]:
    """Return what share of each requested resource was really used, in percent."""
    from prophase.trace.describe import NotComputable

    found = description.utilisation
    if isinstance(found, NotComputable):
        return {}
    return {part.resource: 100 * part.utilisation for part in found.resources}


def _write_report(
    description: Description,
    profiles: list[dict[str, Any]],
    predicted: Predicted | None,
    schedules: list[dict[str, Any]],
    page: Path,
) -> None:
    from prophase.plots.page import Paragraph, Section, Table, write_page
    from prophase.plots.trace_page import trace_page

    told = trace_page(description, command=typed_command())
    sections = []
    if profiles:
        sections.append(_profile_section(profiles))
    if predicted is not None:
        sections.append(_prediction_section(predicted))
    replayed = Section(
        "What other queue orders would do",
        [
            Paragraph(
                "The same jobs on the same nodes, replayed. A strict queue waits behind its first "
                "job that does not fit; a skipping one passes it over. 'shortest predicted' knows "
                "only what was known at submission; 'shortest' knows the true run times, which no "
                "scheduler does: it is the bound that predictions aim at."
            ),
            Table(schedules, "Waits and completion times, in seconds"),
        ],
    )
    write_page(replace(told, sections=[*told.sections, *sections, replayed]), page)


def _profile_section(profiles: list[dict[str, Any]]) -> Section:
    from prophase.plots.page import Paragraph, Section, Table

    return Section(
        "Which kinds of job there are",
        [
            Paragraph(
                "Jobs that use resources alike make a profile. The largest are shown; what most "
                "of a profile's jobs share stands beside it."
            ),
            Table(profiles[:_SHOWN_PROFILES], "Profiles, largest first"),
        ],
    )


def _prediction_section(predicted: Predicted) -> Section:
    from prophase.plots.page import Paragraph, Section, Table

    return Section(
        "How long jobs will run",
        [
            Paragraph(
                "Learnt from the first three quarters of the trace, judged on the last one, each "
                "job answered as of its submission. The medians learn nothing: they are what a "
                "method has to beat. The range is meant to hold 90 % of the outcomes."
            ),
            Table(predicted.scores, "Predictions beside baselines"),
        ],
    )
