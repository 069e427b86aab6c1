"""prophase serve audit: who changed what, when, from where."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, as_typed, show_result
from prophase.errors import FormatError
from prophase.result import Result


def command(
    path: Annotated[
        Path, typer.Argument(envvar="PROPHASE_WORKSPACE", help="Workspace of the service.")
    ] = Path("workspace"),
    since: Annotated[
        str,
        typer.Option("--entries-since", help="Only entries from this time on, such as 2026-03-01."),
    ] = "",
    who: Annotated[str, typer.Option(help="Only entries of this token or user.")] = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Fail if a line was changed or removed.")
    ] = False,
    format: FormatOption = Format.table,
) -> None:
    """Print the audit log of a service: every change, and every request that was not allowed.

    Each line of the log holds the hash of the one before; --verify checks them all. Keep a copy of
    the last line elsewhere to notice a log that was cut off at its end.

    Examples:

    `prophase serve audit ws --format csv > audit.csv`

    `prophase serve audit ws --verify`
    """
    from prophase.serve.audit import AuditLog
    from prophase.trace.workspace import Workspace

    log = AuditLog(Workspace(path).folder)
    broken = log.broken_at() if verify else None
    if broken is not None:
        raise FormatError(
            f"{log.path} line {broken}: does not follow the line before it. Lines before were "
            f"changed or removed; compare with a copy of prophase serve audit {as_typed(path)}."
        )
    rows = []
    for one in log.entries():
        if one.at >= since and who in ("", one.who):
            told = {key: value for key, value in asdict(one).items() if key != "before"}
            details = ", ".join(f"{name} {value}" for name, value in one.details.items())
            rows.append({**told, "details": details} if format is Format.table else told)
    checked = ["Every line follows the one before it."] if verify else []
    empty = [] if rows else ["No entry."]
    show_result(Result.of_rows("serve-audit", rows, notes=[*empty, *checked]), format)
