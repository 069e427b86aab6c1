"""prophase report: the reports of a workspace, listed, and each in any format."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    progress_bar,
    show_result,
    write_report,
)
from prophase.errors import InputError, ParameterError, not_among
from prophase.plural import counted
from prophase.result import Result, Table


def command(
    path: Annotated[Path, typer.Argument(help="A workspace, or the report.json of a report.")],
    name: Annotated[
        str | None, typer.Argument(help="Which report of the workspace; a list if not given.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write page, Markdown, JSON and figures into this folder."),
    ] = None,
    redraw: Annotated[
        bool,
        typer.Option(
            "--redraw",
            help="Write all pages, tables and figures below the folder again: reports and sweeps.",
        ),
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """List the reports of a workspace, show one of them, or draw a folder of results again.

    A report is kept as data, so that it can be shown and drawn again in every format; a sweep
    is ranked and drawn from its cells. Neither needs the trace.

    Examples:

    `prophase report ws`

    `prophase report ws study --format markdown > study.md`

    `prophase report report.json --out again`

    `prophase report results --redraw`
    """
    if redraw:
        if name is not None or out is not None:
            raise ParameterError("--redraw writes all results of a folder where they are.")
        _redraw(path, format)
        return
    if path.is_dir() and name is None:
        if out is not None:
            raise ParameterError("--out writes one report: name it.")
        _list(path, format)
        return
    from prophase.result.json_form import read_result, to_dict

    report = read_result(path if name is None else _found(path, name))
    if out is not None:
        write_report(report, out)
    rows = [{"what": fact.label, "found": fact.text()} for fact in report.facts]
    table = Table("facts", rows)
    told = replace(report, tables=[table], notes=_notes(report), values=to_dict(report))
    show_result(told, format)


def _redraw(folder: Path, format: Format) -> None:
    from prophase.plots.result_folder import redraw

    with progress_bar() as show:
        found = redraw(folder, show=lambda path: show(f"drawing {path.name}", None))
    if not found:
        raise InputError(
            f"{folder}: holds no report.json and no finished sweep, at any depth. Write some with "
            "--report of a command, prophase study or prophase sweep."
        )
    rows = [one.to_dict() for one in found]
    damaged = sum(bool(one.problem) for one in found)
    said = [f"{counted(len(found) - damaged, 'result')} written again."]
    if damaged:
        said.append(f"{counted(damaged, 'result')} could not be read and stayed as they are.")
    show_result(Result.of_rows("report-redraw", rows, notes=said), format)
    if damaged:
        raise typer.Exit(1)


def _list(workspace: Path, format: Format) -> None:
    from prophase.result.stored import stored_reports

    rows = [
        {
            "report": one.name,
            "title": one.title,
            "answer": one.answer if format is not Format.table else one.answer[:60],
            "written": f"{datetime.fromtimestamp(one.written_s, UTC):%Y-%m-%d %H:%M} UTC",
            "page": str(one.page),
        }
        for one in stored_reports(workspace)
    ]
    here = as_typed(workspace)
    nothing = f"No reports yet. Next: prophase study {here}"
    show_result(
        Result.of_rows(
            "report-list", rows, notes=[f"Next: prophase report {here} NAME" if rows else nothing]
        ),
        format,
    )


def _found(workspace: Path, name: str) -> Path:
    from prophase.result.stored import stored_reports

    if not workspace.is_dir():
        raise InputError(f"{workspace}: is no workspace. Name a folder, or a report.json alone.")
    held = {one.name: one.json for one in stored_reports(workspace)}
    if name not in held:
        said = f"{workspace}: has no report {name!r}."
        raise ParameterError(not_among(said, name, held))
    return held[name]


def _notes(report: Result) -> list[str]:
    lines = [report.question, report.answer]
    for one in report.all_sections():
        if one.texts:
            said = (
                text if text.endswith((".", ":", "?", "!")) else f"{text}." for text in one.texts
            )
            lines.append(f"{one.title}: {' '.join(said)}")
    lines += [f"Limit: {limit}" for limit in report.limits]
    if report.provenance is not None:
        lines.append(f"Made by: {report.provenance.command}")
    return [line for line in lines if line]
