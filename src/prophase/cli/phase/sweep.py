"""prophase phase sweep: labellers, numbers of phases and windows side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, progress_bar, show_result
from prophase.cli.phase.options import MetricOption, StepOption, read_usage, step_seconds
from prophase.cli.shared_options import SeedOption
from prophase.cli.trace_options import ReaderOption, SourceOption, TraceArgument
from prophase.errors import ParameterError


def command(
    path: TraceArgument,
    labellers: Annotated[
        str, typer.Option(help="Names joined by commas.")
    ] = "hmm,crbm,samples,windows,change-points",
    phases: Annotated[
        str, typer.Option(help="Numbers of phases: 2-6, or joined by commas.")
    ] = "1-8",
    windows: Annotated[
        str | None, typer.Option(help="Windows, joined by commas. [default: each labeller's own]")
    ] = None,
    hidden: Annotated[
        str, typer.Option(help="crbm: numbers of hidden features, joined by commas.")
    ] = "10",
    stability: Annotated[
        bool, typer.Option("--stability/--no-stability", help="Learn from halves, and compare.")
    ] = True,
    metric: MetricOption = None,
    step: StepOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    option: ReaderOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Try labellers with several numbers of phases and windows, and compare what they explain.

    Examples:

    `prophase phase sweep ws --labellers hmm,samples --phases 2-5`

    `prophase phase sweep ws --labellers crbm --windows 1,3,5 --hidden 5,10,20`
    """
    from prophase.phase.detector import scaled_stretches
    from prophase.phase.model_selection import sweep, trials_result

    numbers = _numbers("--phases", phases)
    looked = _numbers("--windows", windows) if windows else None
    names = [name.strip() for name in labellers.split(",") if name.strip()]
    with progress_bar() as progress:
        progress("reading the series", None)
        usage = read_usage(path, source, option)
        stretches, series = scaled_stretches(usage, metric or None, step_s=step_seconds(step))
        trials = sweep(
            stretches,
            names,
            n_phases=numbers,
            windows=looked,
            hidden=_numbers("--hidden", hidden),
            series=series,
            random_state=seed,
            stability=stability,
            progress=progress,
        )
    show_result(trials_result(trials), format)


def _numbers(name: str, text: str) -> list[int]:
    """Read ``2-6`` or ``2,4,8``."""
    try:
        first, dash, last = text.partition("-")
        if dash:
            return list(range(int(first), int(last) + 1))
        return [int(one) for one in text.split(",")]
    except ValueError as cause:
        raise ParameterError(f"{name} {text!r}: write 2-6, or 2,4,8.") from cause
