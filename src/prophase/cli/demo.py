"""prophase demo: the main job on built-in data, from nothing to a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, emit, finite, say, typed_command
from prophase.plural import counted

if TYPE_CHECKING:
    from prophase.trace.describe import Description
    from prophase.trace.loading import Trace

#: what the demo's tables say they come from; a folder with others is not touched
_SOURCE = "demo"
#: jobs and days of the built-in trace
_FULL, _QUICK = (60_000, 14.0), (8_000, 3.0)


def command(
    folder: Annotated[Path, typer.Argument(help="Workspace to make.")] = Path("demo"),
    quick: Annotated[bool, typer.Option("--quick", help="A smaller trace, in seconds.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the trace.")] = 0,
    format: FormatOption = Format.table,
) -> None:
    """Show what Prophase does, offline and on data it makes itself.

    Builds a GPU-cluster trace like Alibaba's PAI, checks it, describes it in one
    self-contained page, and replays it under several queue orders.

    Example: `prophase demo my-demo --quick`
    """
    from prophase.trace.describe import describe

    _refuse_other_tables(folder)
    jobs, days = _QUICK if quick else _FULL
    say(f"1/4  making a trace of {jobs:,} jobs over {days:g} days, and a cluster to match")
    trace = _make(folder, jobs, days, seed)
    say("2/4  looking for what is wrong with it")
    found = _lint(folder)
    say("3/4  describing it: arrivals, run times, waste, recurrence, laws that fit")
    description = describe(trace)
    say("4/4  replaying it: what would other queue orders do?")
    schedules = _replay(trace)
    page = folder / "report.html"
    _write_report(description, schedules, page)
    waste = _use_of_request(description)
    emit(
        schedules,
        format,
        document=finite({"lint": found, "use_of_request": waste, "replay": schedules}),
        remarks=[
            f"lint: {counted(found['errors'], 'error')}, {counted(found['warnings'], 'warning')}",
            *(f"use of what was asked for: {name} {pct:.0f} %" for name, pct in waste.items()),
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


def _write_report(description: Description, schedules: list[dict[str, Any]], page: Path) -> None:
    from prophase.plots.page import Paragraph, Section, Table, write_page
    from prophase.plots.trace_page import trace_page

    told = trace_page(description, command=typed_command())
    replayed = Section(
        "What other queue orders would do",
        [
            Paragraph(
                "The same jobs on the same nodes, replayed. A strict queue waits behind its first "
                "job that does not fit; a skipping one passes it over. 'shortest' knows the true "
                "run times, which no scheduler does: it is the bound that predictions aim at."
            ),
            Table(schedules, "Waits and completion times, in seconds"),
        ],
    )
    write_page(replace(told, sections=[*told.sections, replayed]), page)


def _replay(trace: Trace) -> list[dict[str, Any]]:
    from prophase.sim import Cluster, Workload, simulate

    workload, cluster = Workload.from_jobs(trace.jobs), Cluster.from_nodes(trace.nodes)
    rows = []
    for queue, order in (
        ("strict", "fifo"),
        ("skip", "fifo"),
        ("skip", "shortest"),
        ("skip", "smallest_gpu_time"),
    ):
        schedule = simulate(workload, cluster, order=order, queue=queue, leave_out_unfit=True)
        measured = schedule.metrics()
        rows.append(
            {
                "queue": queue,
                "order": order,
                "mean_wait_s": measured["mean_wait_s"],
                "p99_wait_s": measured["p99_wait_s"],
                "mean_jct_s": measured["mean_jct_s"],
                "gpu_utilisation_pct": measured["gpu_utilisation_pct"],
            }
        )
    return rows
