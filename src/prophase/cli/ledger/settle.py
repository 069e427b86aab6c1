"""prophase ledger settle: hold advices against what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.ledger.show import present
from prophase.cli.output import Format, FormatOption
from prophase.cli.trace_options import SourceOption, TraceArgument


def command(
    path: TraceArgument,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Ledger file, or the workspace that holds it. [default: the trace's]"),
    ] = None,
    prices: Annotated[Path | None, typer.Option(help="Price file: .toml or .csv.")] = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Settle every advice against jobs that came after it, and say what each was worth.

    A job belongs to the last advice on its task that was in force when it was submitted. The
    same jobs may be settled again: nothing is counted twice.

    Examples:

    `prophase ledger settle ws`

    `prophase ledger settle november.csv --ledger ws --prices prices.toml`
    """
    from prophase.study.ledger.book import Ledger
    from prophase.trace.loading import open_trace
    from prophase.trace.workspace import Workspace

    home = ledger or (path if Workspace.is_at(path) else Path("ledger.db"))
    book = Ledger(home)
    jobs = open_trace(path, source=source, tables=["jobs"]).jobs
    count = book.settle(jobs)
    present(book, prices, None, format, [f"{count:,} of {len(jobs):,} jobs were under an advice."])
