"""prophase why: what do jobs wait for, and what would help?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import (
    Format,
    FormatOption,
    as_typed,
    check_file,
    check_folder,
    keep_result,
    kept_folder,
    progress_bar,
    show_result,
    write_page,
    write_tables,
)
from prophase.cli.replay_options import ByOption, ClusterSettings, ReplaySettings
from prophase.cli.shared_options import (
    PageOption,
    PricesOption,
    SaveOption,
    SeedOption,
    ShortBelowOption,
)
from prophase.cli.trace_options import SourceOption, TraceArgument

if TYPE_CHECKING:
    from prophase.sim.why.explanation import Why


@dataclass(frozen=True)
class WhyOutputs:
    """What is written beside the answer."""

    page: PageOption = None
    out: Annotated[
        Path | None,
        typer.Option(help="Write every table as CSV into this folder, jobs.csv has each job."),
    ] = None
    keep: SaveOption = None


def command(
    path: TraceArgument,
    cluster: ClusterSettings,
    replay: ReplaySettings,
    outputs: WhyOutputs,
    source: SourceOption = None,
    by: ByOption = "class",
    blame_by: Annotated[
        str | None,
        typer.Option(help="Sum up who holds others up by this. [default: user, else gpus]"),
    ] = None,
    short_below: ShortBelowOption = "1h",
    only_shares: Annotated[
        bool, typer.Option("--only-shares", help="Do not replay without each cause: quicker.")
    ] = False,
    prices: PricesOption = None,
    seed: SeedOption = 42,
    format: FormatOption = Format.table,
) -> None:
    """Show what removing each cause of waiting would save, and split all waiting by cause.

    The first table is ordered by what is saved, or with --prices by what is saved per unit
    of money. Shares explain it: they add up to 100 %, savings do not, because causes act
    together.

    Examples:

    `prophase why ws --cluster '100x8' --queue strict`

    `prophase why ws --cluster '100x8' --by user --page why.html`

    `prophase why ws --prices prices.toml`

    `prophase why pods.csv --source openb --nodes nodes.csv --out tables --format json`
    """
    from prophase.cli.provenance import open_trace
    from prophase.plots.illustrations import with_why_figures
    from prophase.sim import Workload
    from prophase.sim.why.explanation import why
    from prophase.sim.why.result import why_result
    from prophase.trace.prices import Prices

    page, out = outputs.page, outputs.out
    check_file("--page", page)
    check_folder("--out", out)
    kept_folder(outputs.keep, path)
    priced = Prices.read(prices) if prices is not None else None
    short_below_s = units.parse_duration(short_below, bare="s", where="--short-below")
    with progress_bar() as progress:
        progress("reading the trace", None)
        trace = open_trace(path, source=source)
        machines = cluster.of(trace, path, source)
        found = why(
            Workload.from_jobs(trace.jobs),
            machines,
            by=by,
            blame_by=blame_by,
            short_below_s=short_below_s,
            clock=trace.clock,
            remove=not only_shares,
            prices=priced,
            progress=progress,
            **replay.values(seed=seed),
        )
        result = with_why_figures(why_result(found, data_hash=trace.data_hash), found)
    more = f"Next: prophase why {as_typed(path)} ... --page why.html"
    show_result(result if page is not None else result.noted(more), format)
    if page is not None:
        write_page(result, page)
    keep_result(result, outputs.keep, path)
    if out is not None:
        _write_tables(found, out)


def _write_tables(found: Why, out: Path) -> None:
    import pandas as pd

    tables = {
        "removals": pd.DataFrame(found.removals()),
        "causes": pd.DataFrame(found.side_by_side()),
        "classes": pd.DataFrame(found.classes),
        "held_up": pd.DataFrame(found.held_up),
        "held_up_by": pd.DataFrame(found.held_up_by),
        "held_up_for": pd.DataFrame(found.held_up_for),
        "idle": pd.DataFrame(found.idle),
        "idle_hours": pd.DataFrame(found.idle_hours),
        "stranded": pd.DataFrame(found.stranded),
        "idle_map": found.idle_map,
        "jobs": found.jobs,
    }
    write_tables(tables, out)
