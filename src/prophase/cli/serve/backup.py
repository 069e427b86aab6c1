"""prophase serve backup and restore: one archive of a workspace with its databases."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, say, show_result
from prophase.result import Result


def backup_command(
    path: Annotated[Path, typer.Argument(help="Workspace or campaign to keep.")],
    archive: Annotated[Path, typer.Argument(help="File to write, such as ws.tar.gz.")],
    format: FormatOption = Format.table,
) -> None:
    """Keep a workspace or a campaign in one file, with tokens, reports, runs and models.

    The service and workers may go on meanwhile. Runs on PostgreSQL are written row by row. The file
    is there whole or not at all, and holds the SHA-256 of everything in it.

    Example:

    `prophase serve backup ws ws-2026-03-01.tar.gz`
    """
    from prophase.serve.audit import note_command
    from prophase.serve.backup import back_up

    made = back_up(path, archive)
    note_command(path, "prophase serve backup", {"archive": archive.name, "files": made.files})
    show_result(Result.of_rows("serve-backup", [asdict(made)], values=asdict(made)), format)


def restore_command(
    archive: Annotated[Path, typer.Argument(help="File that prophase serve backup wrote.")],
    path: Annotated[Path, typer.Argument(help="Folder to make; it must not be there yet.")],
    database: Annotated[
        str | None,
        typer.Option(
            "--into-database",
            help="Empty database for runs that were on PostgreSQL. [default: as before]",
        ),
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Make a workspace or a campaign again from a backup; nothing there is overwritten.

    Every file is checked against its SHA-256 before the folder appears.

    Example:

    `prophase serve restore ws-2026-03-01.tar.gz ws`
    """
    from prophase.serve.backup import restore

    made = restore(archive, path, database=database)
    show_result(Result.of_rows("serve-restore", [asdict(made)], values=asdict(made)), format)
    say(f"{path} is as it was at {made.made_at}.")
