"""prophase autoscale fit: choose and tune a policy, and keep it in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.autoscale.options import (
    FleetSettings,
    GoalSettings,
    SeriesArgument,
    compared,
)
from prophase.cli.output import Format, FormatOption, as_typed, progress_bar, say, show_result
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import SourceOption


def command(
    series: FleetSettings,
    goal: GoalSettings,
    path: SeriesArgument = None,
    out: Annotated[Path, typer.Option(help="File for the policy.")] = Path("autoscale.policy"),
    choose: Annotated[
        str | None,
        typer.Option(
            help="Name of the policy to keep. [default: the least allocation on training series]"
        ),
    ] = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Choose a policy on training series, show what it does on others, and keep it in a file.

    Examples:

    `prophase autoscale fit series.csv --out memory.policy`

    `prophase autoscale fit ws --allocate cpu_cores --satisfy 95% --out cpu.policy`

    `prophase autoscale fit series.csv --phases-from phases.model --choose phase-ahead`
    """
    from prophase.autoscale.comparison_result import comparison_result
    from prophase.autoscale.saved_policy import saved_policy

    with progress_bar() as show:
        found, notes = compared(
            path, series, goal, seed=seed, source=source, show=show, also=choose
        )
    made = saved_policy(found, choose)
    made.save(out)
    say(f"Wrote {out}: {made.name} for {made.metric}.")
    shown = as_typed(out)
    more = (
        f"Next: prophase autoscale recommend {shown} SERIES; prophase autoscale run {shown} --help"
    )
    show_result(comparison_result(found, notes).noted(more), format)
