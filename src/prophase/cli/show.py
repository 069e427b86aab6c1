"""prophase show: what a workspace holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, as_typed, finite, show_result
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.trace.workspace import Workspace


def command(
    workspace: Annotated[Path, typer.Argument(help="The workspace.")] = Path(),
    table: Annotated[
        str | None, typer.Option("--table", "-t", help="Show the columns of this table.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Show the tables of a workspace, their rows, columns, hashes and where they came from.

    Examples: `prophase show ws`, `prophase show ws --table jobs`
    """
    from prophase.trace.workspace import Workspace

    held = Workspace(workspace)
    # not shown, but a mistake in them would hit the next command
    _ = held.settings
    if table is not None:
        show_result(Result.of_rows("show", _columns(held, table)), format)
        return
    entries = held.tables
    rows = [
        {
            "table": entry.name,
            "rows": entry.rows,
            "columns": len(entry.columns),
            "source": entry.source,
            "data": entry.source_hash[:12],
            "made": entry.made_at,
            "command": entry.command,
        }
        for entry in entries.values()
    ]
    here = as_typed(workspace)
    empty = f"No tables yet. Next: prophase import SOURCE PATH --workspace {here}"
    show_result(
        Result.of_rows(
            "show",
            rows,
            values={name: finite(asdict(entry)) for name, entry in entries.items()},
            notes=[f"Next: prophase show {here} --table {rows[0]['table']}" if rows else empty],
        ),
        format,
    )


def _columns(workspace: Workspace, table: str) -> list[JsonObject]:
    from prophase.trace.schema import SCHEMAS

    frame = workspace.read(table)
    schema = SCHEMAS.get(table)
    rows = []
    for name in frame.columns:
        column = schema.get(str(name)) if schema else None
        values = frame[name]
        example = values.dropna().iloc[0] if values.notna().any() else None
        rows.append(
            {
                "column": name,
                "unit": column.unit if column else "",
                "known": column.known if column else "",
                "missing_pct": round(100 * float(values.isna().mean()), 1),
                "distinct": int(values.nunique()),
                "example": str(example)[:40],
                "meaning": column.text if column else "",
            }
        )
    return rows
