"""prophase init: make a folder a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, as_typed, say, show_result
from prophase.result import Result


def command(
    folder: Annotated[Path, typer.Argument(help="Folder to make or to use.")] = Path(),
    format: FormatOption = Format.table,
) -> None:
    """Make a folder a workspace: the place for tables, models and reports.

    Example: `prophase init my-cluster`
    """
    from prophase.trace.workspace import SETTINGS, Workspace

    existed = Workspace.is_at(folder)
    workspace = Workspace.create(folder)
    if format is Format.table:
        typer.echo(str(workspace.folder))
    else:
        row = {"workspace": str(workspace.folder), "made": not existed}
        show_result(Result.of_rows("init", [row], values=row), format)
    say(
        f"{'Already a workspace' if existed else 'Made a workspace'}; settings are in {SETTINGS}.\n"
        f"Next: prophase import SOURCE PATH --workspace {as_typed(folder)}"
    )
