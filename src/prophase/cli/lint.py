"""prophase lint: is this trace sound?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, as_typed, show_result
from prophase.cli.split_options import TestOption
from prophase.cli.trace_options import (
    ReaderOption,
    SourceOption,
    TraceArgument,
    named_values,
)

if TYPE_CHECKING:
    from prophase.trace.lint.linter import LintReport


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
    from prophase.trace.lint.lint_result import lint_result
    from prophase.trace.lint.linter import lint

    report = lint(
        path,
        source=source,
        test=test,
        inputs=_names(inputs),
        options=named_values(option),
    )
    result = lint_result(report)
    show_result(result.noted(_next_step(report, path)), format)
    if not report.sound:
        raise typer.Exit(1)


def _next_step(report: LintReport, path: Path) -> str:
    from prophase.trace.workspace import Workspace

    if not report.sound:
        return "Next: correct the errors at the source, then run the same command again."
    if Workspace.is_at(path):
        return f"Next: prophase describe {as_typed(path)}"
    return f"Next: prophase import {report.checked['source'] or 'SOURCE'} {as_typed(path)}"


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]
