"""prophase describe: what a trace looks like."""

from __future__ import annotations

from typing import Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    check_file,
    check_folder,
    progress_bar,
    show_result,
    typed_command,
    write_figures,
    write_page,
)
from prophase.cli.shared_options import FiguresOption, PageOption, SeedOption, ShortBelowOption
from prophase.cli.trace_options import SourceOption, TraceArgument


def command(
    path: TraceArgument,
    source: SourceOption = None,
    short_below: ShortBelowOption = "1h",
    low_gpus: Annotated[
        float, typer.Option(help="Jobs that ask for at most this many GPUs in total are low.")
    ] = 1.0,
    laws: Annotated[bool, typer.Option(help="Fit arrival and service laws.")] = True,
    seed: SeedOption = 0,
    page: PageOption = None,
    figures: FiguresOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Describe a trace: counts, arrivals, run times, waits, classes, requests against use,
    recurrence, fitted laws with their goodness of fit, missing values.

    What the trace cannot tell is named with the reason. JSON holds everything, CSV its
    single numbers.

    Examples:

    `prophase describe ws`

    `prophase describe philly.csv.gz --source philly --page philly.html`

    `prophase describe ws --format json | jq .service_laws.fits[0]`
    """
    from prophase.cli.provenance import open_trace
    from prophase.plots.illustrations import with_trace_figures
    from prophase.trace.describe.description import describe
    from prophase.trace.describe.description_result import description_result

    short_below_s = units.parse_duration(short_below, bare="s", where="--short-below")
    check_file("--page", page)
    check_folder("--figures", figures)
    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source, by_column=True)
        progress("describing it", None)
        found = describe(
            trace,
            short_below_s=short_below_s,
            low_gpus=low_gpus,
            laws=laws,
            random_state=seed,
        )
        result = with_trace_figures(description_result(found, command=typed_command()), found)
    more = f"Next: prophase describe {as_typed(path)} --page report.html"
    show_result(result.noted(more), format)
    if page is not None:
        write_page(result, page)
    if figures is not None:
        write_figures(result, figures)
