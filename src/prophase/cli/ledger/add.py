"""prophase ledger add: keep a recommendation with its prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, WorkspaceOption, as_typed, show_result
from prophase.cli.trace_options import SourceOption
from prophase.result import Result


def command(
    advice: Annotated[
        Path,
        typer.Argument(
            metavar="RECOMMENDATION",
            help="Recommendation: .json or .csv of prophase size --export or study.",
        ),
    ],
    workspace: WorkspaceOption = Path(),
    ledger: Annotated[
        Path | None,
        typer.Option(help="Ledger file, or the workspace that holds it. [default: --workspace]"),
    ] = None,
    from_s: Annotated[
        float | None,
        typer.Option(help="Submissions from this time on count. [default: the last of the jobs]"),
    ] = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Keep a recommendation in the ledger: requests of today, requests recommended, saving.

    Example:

    `prophase ledger add recommendation.json --workspace ws`
    """
    from prophase.cli.provenance import open_trace
    from prophase.study.ledger.ledger import Ledger
    from prophase.study.proof.candidate import read_candidate
    from prophase.trace.workspace import Workspace

    given = read_candidate(advice)
    trace = open_trace(workspace, source=source, tables=["jobs"])
    at_home = workspace if Workspace.is_at(workspace) else Path("ledger.db")
    book = Ledger(ledger or at_home)
    kept = book.add(given, trace.jobs, from_s=from_s, data_hash=trace.data_hash)
    rows = [
        {"task": name, "now": one.now, "advised": one.ladder[0],
         "predicted_saving_pct": 100 * one.saving}
        for name, one in kept.terms.items()
    ]  # fmt: skip
    document = {
        "advice": kept.id, "ledger": str(book.path), "from_s": kept.from_s, "unit": kept.unit,
        "tasks": rows,
    }  # fmt: skip
    remarks = [
        f"Recommendation {kept.id} of {len(rows):,} tasks is in {book.path}; requests in "
        f"{kept.unit}.",
        f"Next: prophase ledger settle LATER_JOBS --ledger {as_typed(book.path)}",
    ]
    show_result(Result.of_rows("ledger-add", rows, values=document, notes=remarks), format)
