"""prophase next measure: the least certain and most expensive jobs, ready to be registered."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from prophase.atomic_files import write_whole
from prophase.cli.output import Format, FormatOption, as_typed, progress_bar, say, show_result
from prophase.cli.shared_options import SeedOption
from prophase.cli.sizing_options import GroupOption
from prophase.cli.trace_options import SourceOption, TraceArgument
from prophase.result import Result


def command(
    path: TraceArgument,
    pipeline: Annotated[
        Path | None,
        typer.Option(help="Pipeline of the campaign: its scenario keys tell kinds of job apart."),
    ] = None,
    by: GroupOption = None,
    count: Annotated[int, typer.Option(min=1, help="Kinds of job to measure.")] = 10,
    dates: Annotated[
        str | None,
        typer.Option(
            help="Dates of the runs: one, several joined by commas, or a range such as "
            "2024-01-01..2024-03-31/7. [default: today]"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the registration file for prophase runs here.")
    ] = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Name the kinds of job whose measurement is worth most.

    At stake is what a kind reserves in a month times how uncertain its predicted peak is; of a
    kind that was measured often one more run teaches less. The file that --out writes is
    registered as it is.

    Examples:

    `prophase next measure ws --out scenarios.yaml`

    `prophase next measure ws --pipeline pipeline.yaml --dates 2026-01-05..2026-02-28/7`
    """
    from prophase.cli.provenance import open_trace
    from prophase.study.measurement_plan import month_in_words, next_runs, registration

    chosen = [one.strip() for one in by.split(",")] if by else []
    if pipeline is not None:
        from prophase.runs.pipeline import read_pipeline

        chosen = list(read_pipeline(pipeline).scenario_keys)
    with progress_bar() as show:
        show("reading", None)
        jobs = open_trace(path, source=source, tables=["jobs"]).jobs
        show("asking for every kind of job", None)
        found = next_runs(jobs, keys=chosen, count=count, random_state=seed)
    text = registration(found, dates or date.today().isoformat())
    remarks = [
        f"{len(found.runs)} of {found.kinds:,} kinds; value, low and high of {found.target}; "
        f"reserved, at stake and worth in {found.unit} h a month, {month_in_words(found)}.",
    ]
    if out is not None:
        write_whole(out, text)
        say(f"Wrote {out}.")
        remarks.append(f"Next: prophase runs register {as_typed(out)}")
    else:
        remarks.append(f"Next: prophase next measure {as_typed(path)} --out scenarios.yaml")
    shown = [
        {k: v for k, v in row.items() if k != "uncertainty"} for row in found.rows()
    ] if format is Format.table else found.rows()  # fmt: skip
    show_result(
        Result.of_rows(
            "next-measure", shown, values={**found.to_dict(), "registration": text}, notes=remarks
        ),
        format,
    )
