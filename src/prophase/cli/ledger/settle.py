"""prophase ledger settle: compare recommendations with what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.ledger.show import present
from prophase.cli.output import Format, FormatOption
from prophase.cli.shared_options import PricesOption
from prophase.cli.trace_options import SourceOption, TraceArgument


def command(
    path: TraceArgument,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Ledger file, or the workspace that holds it. [default: the trace's]"),
    ] = None,
    prices: PricesOption = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Settle every recommendation against jobs that came after it, and say what each was worth.

    A job belongs to the last recommendation for its task that was in force at its submission. The
    same jobs may be settled again: nothing is counted twice. Of a workspace, jobs that were
    reported to its service or taken by `prophase watch` are settled with those imported.

    Examples:

    `prophase ledger settle ws`

    `prophase ledger settle november.csv --ledger ws --prices prices.toml`
    """
    from prophase.cli.provenance import open_trace
    from prophase.study.ledger.ledger import Ledger
    from prophase.trace.reported_jobs import one_row_per_job, reported_jobs
    from prophase.trace.workspace import Workspace

    home = ledger or (path if Workspace.is_at(path) else Path("ledger.db"))
    book = Ledger(home)
    fed_back = reported_jobs(path) if source is None and Workspace.is_at(path) else None
    if fed_back is None or Workspace(path).tables.get("jobs") or not len(fed_back):
        parts = [open_trace(path, source=source, tables=["jobs"]).jobs]
    else:
        parts = []
    said = []
    if fed_back is not None and len(fed_back):
        imported = sum(map(len, parts))
        parts.append(fed_back)
        said = [f"{imported:,} jobs were imported, {len(fed_back):,} fed back."]
    jobs = one_row_per_job(parts)
    count = book.settle(jobs)
    said.append(f"{count:,} of {len(jobs):,} jobs were under a recommendation.")
    present(book, prices, None, format, said)
