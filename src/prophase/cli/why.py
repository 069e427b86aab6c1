"""prophase why: what do jobs wait for, and what would help?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    emit,
    finite,
    progress_bar,
    say,
    typed_command,
)
from prophase.cli.replay_options import ByOption, ClusterSettings, ReplaySettings
from prophase.cli.shared_options import PageOption, SeedOption, ShortBelowOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.errors import ParameterError, storage_error

if TYPE_CHECKING:
    from prophase.plots.page import Page
    from prophase.sim.why.explanation import Why


def command(
    path: TraceArgument,
    cluster: ClusterSettings,
    replay: ReplaySettings,
    source: SourceOption = None,
    by: ByOption = "class",
    blame_by: Annotated[
        str | None,
        typer.Option(help="Sum up who holds others up by this. [default: user, else gpus]"),
    ] = None,
    short_below: ShortBelowOption = "1h",
    only_shares: Annotated[
        bool, typer.Option("--only-shares", help="Do not replay without each cause: quicker.")
    ] = False,
    page: PageOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write every table as CSV into this folder, jobs.csv has each job."),
    ] = None,
    seed: SeedOption = 42,
    format: FormatOption = Format.table,
) -> None:
    """Split all waiting time by cause, and show what removing each cause would do.

    The shares add up to 100 %. Beside each stands the change of all waiting in a replay
    without the cause; the two differ because causes act together.

    Examples:

    `prophase why ws --cluster '100x8' --queue strict`

    `prophase why ws --cluster '100x8' --by user --page why.html`

    `prophase why pods.csv --source openb --nodes nodes.csv --out tables --format json`
    """
    from prophase.cli.provenance import open_trace
    from prophase.sim import Workload
    from prophase.sim.why.explanation import why

    _refuse_bad_targets(page, out)
    short_below_s = units.parse_duration(short_below, bare="s", where="--short-below")
    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source)
        machines = cluster.of(trace, path, source)
        found = why(
            Workload.from_jobs(trace.jobs),
            machines,
            by=by,
            blame_by=blame_by,
            short_below_s=short_below_s,
            clock=trace.clock,
            remove=not only_shares,
            progress=progress,
            **replay.values(seed=seed),
        )
        written = []
        if page is not None:
            progress("drawing the page", None)
            written.append(_write_page(_page(found, trace.source, trace.data_hash), page))
        if out is not None:
            written.append(_write_tables(found, out))
    document = {"data_hash": trace.data_hash, **found.to_dict()}
    if format is Format.table:
        _print(found, path, page)
    else:
        emit(
            found.side_by_side(),
            format,
            document=finite(document),
            page=lambda: _page(found, trace.source, trace.data_hash),
        )
    for line in written:
        say(line)


def _print(found: Why, path: Path, page: Path | None) -> None:
    schedule = found.split.schedule
    total = float(found.split.fine_s.sum())
    jobs = len(schedule.workload)
    typer.echo(
        f"{jobs:,} jobs wait {total / 3600:,.0f} h on {len(schedule.cluster):,} nodes, "
        f"{schedule.cluster.gpus:,} GPUs ({schedule.order}, {schedule.queue}, {schedule.place}); "
        f"mean {total / jobs:,.0f} s\n"
    )
    if total:
        _print_causes(found)
    for title, rows in (
        ("By class, causes in % of its waiting", found.classes[:20] if total else []),
        ("Lost while a job would have fitted", found.held_up if found.held_up_by else []),
        ("Whose jobs were in the way", found.held_up_by),
        ("What the jobs in the way lacked themselves", found.held_up_for),
        ("Idle GPUs until the last submission", found.idle),
        ("GPUs stranded beside too little CPU or memory", found.stranded),
    ):
        if rows:
            typer.echo(f"\n{title}\n")
            emit(_without_empty(rows), Format.table)
    more = len(found.classes) - 20 if total else 0
    remarks = [f"{more:,} more classes: see --out or --format json."] if more > 0 else []
    remarks += [note if note.endswith(".") else note + "." for note in found.notes]
    if page is None:
        remarks.append(f"Next: prophase why {as_typed(path)} ... --page why.html")
    typer.echo("\n" + "\n".join(remarks))


def _print_causes(found: Why) -> None:
    shown = found.side_by_side()
    emit(shown, Format.table)
    remarks = ["Shares add up to 100 %; at_root_pct counts who is held up by the queue for what"]
    remarks.append("the job in the way lacks.")
    if found.effects:
        remarks.append("Changes of all waiting do not add up: causes act together.")
    typer.echo("\n" + "\n".join(remarks))


def _without_empty(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out causes that play no part: columns of percent without a number above zero."""
    empty = {
        key for key in rows[0] if key.endswith("_pct") and not any(row.get(key) for row in rows)
    }
    return [{key: value for key, value in row.items() if key not in empty} for row in rows]


def _page(found: Why, source: str, data_hash: str) -> Page:
    from prophase.plots.why import why_page
    from prophase.version import __version__

    about: Mapping[str, str] = {
        "source": source,
        "data hash": data_hash,
        "version": f"prophase {__version__}",
        "command": typed_command(),
    }
    return why_page(found, about)


def _write_page(page: Page, target: Path) -> str:
    from prophase.plots.page import write_page

    write_page(page, target)
    return f"Wrote {target}."


def _write_tables(found: Why, out: Path) -> str:
    import pandas as pd

    tables = {
        "causes": pd.DataFrame(found.side_by_side()),
        "classes": pd.DataFrame(found.classes),
        "held_up": pd.DataFrame(found.held_up),
        "held_up_by": pd.DataFrame(found.held_up_by),
        "held_up_for": pd.DataFrame(found.held_up_for),
        "idle": pd.DataFrame(found.idle),
        "idle_hours": pd.DataFrame(found.idle_hours),
        "stranded": pd.DataFrame(found.stranded),
        "jobs": found.jobs,
    }
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            table.to_csv(out / f"{name}.csv", index=False)
    except OSError as cause:
        raise storage_error(cause, out) from cause
    return f"Wrote {len(tables)} tables to {out}."


def _refuse_bad_targets(page: Path | None, out: Path | None) -> None:
    """Say before the work begins that its result cannot be written."""
    if page is not None and page.is_dir():
        raise ParameterError(f"--page {page}: is a folder. Name a file, such as why.html.")
    if page is not None and not page.resolve().parent.is_dir():
        raise ParameterError(f"--page {page}: the folder {page.parent} does not exist.")
    if out is not None and out.exists() and not out.is_dir():
        raise ParameterError(f"--out {out}: is a file. Name a folder.")
