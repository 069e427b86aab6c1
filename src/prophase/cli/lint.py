"""prophase lint: is this trace sound?"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, as_typed, finite, show_result
from prophase.cli.split_options import TestOption
from prophase.cli.trace_options import (
    ReaderOption,
    SourceOption,
    TraceArgument,
    named_values,
)
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.trace.lint.check_registry import LintFinding
    from prophase.trace.lint.linter import LintReport

_WIDTH = 100
_INDENT = " " * 9
#: the table shows fewer than JSON and CSV, because ids may be long
_EXAMPLES = 3


def command(
    path: TraceArgument,
    source: SourceOption = None,
    test: TestOption = None,
    inputs: Annotated[
        str | None, typer.Option(help="Columns a prediction will use, separated by commas.")
    ] = None,
    option: ReaderOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Find, explain and count what is wrong with a trace.

    An error makes results wrong; a warning wants a look before you trust them; a
    remark is good to know. Leaves with exit code 1 if there is an error.

    Examples:

    `prophase lint ws`

    `prophase lint dump/ --source pai2020`

    `prophase lint train.csv --source philly --test test.csv --inputs user,queue,request_gpus`
    """
    from prophase.trace.lint.linter import lint

    report = lint(
        path,
        source=source,
        test=test,
        inputs=_names(inputs),
        options=named_values(option),
    )
    if format is Format.table:
        for line in as_text(report, path):
            typer.echo(line)
    else:
        show_result(Result.of_rows("lint", _rows(report), values=finite(report.to_dict())), format)
    if not report.sound:
        raise typer.Exit(1)


def as_text(report: LintReport, path: Path) -> Iterator[str]:
    """Yield the report for people: a line per finding with its reason and recommendation below."""
    places = [len(finding.check) for finding in report.findings]
    for finding in report.findings:
        yield from _paragraph(finding, max(places))
    if report.findings:
        yield ""
    yield _summary(report)
    yield from _left_out(report)
    yield _next_step(report, path)


def _paragraph(finding: LintFinding, name_width: int) -> Iterator[str]:

    count = (
        f"{counted(finding.rows, 'row')} ({units.percent(finding.share)})" if finding.rows else ""
    )
    head = f"{finding.severity:<7}  {finding.check:<{name_width}}  {finding.place}  {count}"
    yield head.rstrip()
    if finding.where:
        yield from _wrapped("e.g. " + ", ".join(finding.where[:_EXAMPLES]))
    yield from _wrapped(finding.explanation)
    yield from _wrapped(finding.advice)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(report: LintReport) -> str:
    from prophase.trace.lint.check_registry import SEVERITIES

    checked = report.checked
    what = [f"{counted(rows, 'row')} of {name}" for name, rows in checked["tables"].items()]
    what += [counted(len(checked["files"]), "file")] if checked["files"] else []
    words = {"error": "error", "warning": "warning", "info": "remark"}
    counts = ", ".join(counted(report.count(s), words[s]) for s in SEVERITIES)
    checks = counted(len(checked["checks"]), "check")
    return f"{counts} from {checks} on {', '.join(what) or 'nothing'}."


def _left_out(report: LintReport) -> Iterator[str]:
    yield from report.checked["not_checked"]
    if not report.checked["source"] and not report.checked["tables"]:
        yield (
            "No reader recognises these files, so only the files themselves were checked. "
            "Name the source with --source."
        )
    skipped = len(report.checked["checks_without_data"])
    if skipped:
        yield f"{counted(skipped, 'check')} had nothing to look at (--format json names them)."


def _next_step(report: LintReport, path: Path) -> str:
    from prophase.trace.workspace import Workspace

    if not report.sound:
        return "Next: correct the errors at the source, then run the same command again."
    if Workspace.is_at(path):
        return f"Next: prophase describe {as_typed(path)}"
    return f"Next: prophase import {report.checked['source'] or 'SOURCE'} {as_typed(path)}"


def _rows(report: LintReport) -> list[JsonObject]:
    return [
        {
            "severity": finding.severity,
            "check": finding.check,
            "table": finding.table,
            "column": finding.column,
            "rows": finding.rows,
            "share": round(finding.share, 6),
            "where": "; ".join(finding.where),
            "explanation": finding.explanation,
            "advice": finding.advice,
        }
        for finding in report.findings
    ]


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]
