"""prophase findings: what a published study found, computed for this trace."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, finite, progress_bar, show_result, text_table
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.papers.findings.finding import PublishedFinding


def command(
    path: TraceArgument,
    source: SourceOption = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only this finding, e.g. recurring; repeatable.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Put the numbers of a trace beside those published for Alibaba's PAI cluster.

    Every number is defined in words. Where a column is missing, the line says which; where a
    replay is needed, it says the command.

    Examples:

    `prophase findings ws`

    `prophase findings philly.csv.gz --source philly --only scale --only sharing_saves`

    `prophase findings ws --format csv > findings.csv`
    """
    from prophase.cli.provenance import open_trace
    from prophase.papers.findings.finding_catalogue import STUDY, published_findings

    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source)
        progress("computing", None)
        found = published_findings(trace, only=only or ())
    if format is not Format.table:
        document = {
            "source": trace.source,
            "data_hash": trace.data_hash,
            "study": STUDY,
            "findings": [_document(one) for one in found],
        }
        show_result(
            Result.of_rows(
                "findings", [row for one in found for row in _rows(one)], values=finite(document)
            ),
            format,
        )
        return
    typer.echo(f"{trace.source}: data {trace.data_hash[:12]}; published: {STUDY}")
    for one in found:
        typer.echo(f"\n{one.title}")
        rows = [
            {"here": f.here_words, "published": f.published_words, "what": f.what}
            for f in one.figures
        ]
        for line in text_table(rows):
            typer.echo(f"  {line}")
        if one.note:
            typer.echo(f"  {one.note}")
    figures = [figure for one in found for figure in one.figures]
    counted = sum(figure.here is not None for figure in figures)
    typer.echo(f"\n{counted} of {len(figures)} numbers could be computed for this trace.")


def _rows(finding: PublishedFinding) -> list[JsonObject]:
    return [
        {
            "finding": finding.key,
            "what": figure.what,
            "unit": figure.unit,
            "here": figure.here,
            "published": figure.published_words,
            "reason": figure.reason,
        }
        for figure in finding.figures
    ]


def _document(finding: PublishedFinding) -> JsonObject:
    document = asdict(finding)
    for figure, shown in zip(finding.figures, document["figures"], strict=True):
        shown["published"] = list(figure.published)
    return document
