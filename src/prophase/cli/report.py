"""prophase report: the reports of a workspace, listed, and each in any format."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, as_typed, emit, say
from prophase.errors import InputError, ParameterError, not_among

if TYPE_CHECKING:
    from prophase.study.report import Report


def command(
    path: Annotated[Path, typer.Argument(help="A workspace, or the report.json of a report.")],
    name: Annotated[
        str | None, typer.Argument(help="Which report of the workspace; a list if not given.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write page, Markdown, JSON and figures anew into this folder."),
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """List the reports of a workspace, or show one of them.

    A report is kept as data, so that it can be shown and drawn again in every format.

    Examples:

    `prophase report ws`

    `prophase report ws study --format markdown > study.md`

    `prophase report report.json --out again`
    """
    if path.is_dir() and name is None:
        if out is not None:
            raise ParameterError("--out writes one report: name it.")
        _list(path, format)
        return
    from prophase.study.report import read_report, to_dict

    report = read_report(path if name is None else _found(path, name))
    if out is not None:
        from prophase.plots.report import write_report

        say(f"Wrote {write_report(report, out)}.")
    from prophase.plots.report import report_page

    emit(
        [{"what": fact.name, "found": fact.text()} for fact in report.facts],
        format,
        document=to_dict(report),
        remarks=_remarks(report),
        page=lambda: report_page(report),
    )


def _list(workspace: Path, format: Format) -> None:
    from prophase.study.report import stored_reports

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
    emit(rows, format, remarks=[f"Next: prophase report {here} NAME" if rows else nothing])


def _found(workspace: Path, name: str) -> Path:
    from prophase.study.report import stored_reports

    if not workspace.is_dir():
        raise InputError(f"{workspace}: is no workspace. Name a folder, or a report.json alone.")
    held = {one.name: one.json for one in stored_reports(workspace)}
    if name not in held:
        said = f"{workspace}: has no report {name!r}."
        raise ParameterError(not_among(said, name, held))
    return held[name]


def _remarks(report: Report) -> list[str]:
    lines = [report.question, report.answer]
    lines += [f"{finding.title}: {' '.join(finding.text)}" for finding in report.findings]
    lines += [f"Limit: {limit}" for limit in report.limits]
    if report.reproduce is not None:
        lines.append(f"Made by: {report.reproduce.command}")
    return [line for line in lines if line]
