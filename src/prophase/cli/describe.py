"""prophase describe: what a trace looks like."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    emit,
    progress_bar,
    say,
    text_table,
    typed_command,
)
from prophase.cli.shared_options import FiguresOption, PageOption, SeedOption, ShortBelowOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.plural import counted

if TYPE_CHECKING:
    from prophase.plots.page import Page
    from prophase.trace.describe.description import Description


def command(
    path: TraceArgument,
    source: SourceOption = None,
    short_below: ShortBelowOption = "1h",
    low_gpus: Annotated[
        float, typer.Option(help="Jobs that ask for at most this many GPUs in total are low.")
    ] = 1.0,
    laws: Annotated[bool, typer.Option(help="Fit arrival and service laws.")] = True,
    seed: SeedOption = 0,
    page: PageOption = None,
    figures: FiguresOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Describe a trace: counts, arrivals, run times, waits, classes, requests against use,
    recurrence, fitted laws with their goodness of fit, missing values.

    What the trace cannot tell is named with the reason. JSON holds everything, CSV its
    single numbers.

    Examples:

    `prophase describe ws`

    `prophase describe philly.csv.gz --source philly --page philly.html`

    `prophase describe ws --format json | jq .service_laws.fits[0]`
    """
    from prophase.cli.provenance import open_trace
    from prophase.trace.describe.description import describe

    short_below_s = units.parse_duration(short_below, bare="s", where="--short-below")
    for target in (page, figures):
        _refuse_bad_target(target, is_folder=target is figures)
    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source)
        progress("describing it", None)
        found = describe(
            trace,
            short_below_s=short_below_s,
            low_gpus=low_gpus,
            laws=laws,
            random_state=seed,
        )
        written = []
        if page is not None:
            progress("drawing the page", None)
            written.append(_write_page(found, page))
        if figures is not None:
            progress("drawing the figures", None)
            written += _write_figures(found, figures)
    _print(found, format, path)
    for line in written:
        say(line)


def _print(found: Description, format: Format, path: Path) -> None:
    if format not in (Format.table, Format.csv):
        emit([], format, document=found.to_dict(), page=lambda: _page(found))
        return
    if format is Format.csv:
        from prophase.trace.describe.description import flat_rows

        emit(list(flat_rows(found.to_dict())), format)
        return
    from prophase.trace.describe.chapters import chapters_of

    tables = ", ".join(f"{name} {rows:,}" for name, rows in found.tables.items())
    typer.echo(f"{found.source}: {tables} rows; data {found.data_hash[:12]}")
    silent = []
    for chapter in chapters_of(found):
        if chapter.silent:
            silent.append(f"{chapter.title}: not computable: {chapter.silent}.")
            continue
        typer.echo(f"\n{chapter.title}")
        for sentence in chapter.sentences:
            typer.echo(f"  {sentence}")
        for table in chapter.tables:
            typer.echo(f"\n  {table.caption}")
            for line in text_table(table.rows):
                typer.echo(f"  {line}")
    typer.echo("")
    for line in silent:
        typer.echo(line)
    typer.echo(f"Next: prophase describe {shlex.quote(str(path))} --page report.html")


def _refuse_bad_target(target: Path | None, *, is_folder: bool) -> None:
    """Say before the work begins that its result cannot be written."""
    from prophase.errors import ParameterError

    if target is None:
        return
    if is_folder and target.exists() and not target.is_dir():
        raise ParameterError(f"--figures {target}: is a file. Name a folder.")
    if not is_folder and target.is_dir():
        raise ParameterError(f"--page {target}: is a folder. Name a file, such as report.html.")
    if not is_folder and not target.resolve().parent.is_dir():
        raise ParameterError(f"--page {target}: the folder {target.parent} does not exist.")


def _page(found: Description) -> Page:
    from prophase.plots.trace_page import trace_page

    return trace_page(found, command=typed_command())


def _write_page(found: Description, target: Path) -> str:
    from prophase.plots.page import write_page

    write_page(_page(found), target)
    return f"Wrote {target}."


def _write_figures(found: Description, folder: Path) -> list[str]:
    from prophase.plots.trace_figures import write_figures

    names = write_figures(found, folder)
    return [f"Wrote {counted(len(names), 'figure')} to {folder}: {', '.join(names)}."]
