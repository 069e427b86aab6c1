"""prophase phase fit: learn the phases of series."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, as_typed, progress_bar, say, show_result
from prophase.cli.phase.options import (
    MetricOption,
    StepOption,
    model_target,
    read_usage,
    step_seconds,
)
from prophase.cli.shared_options import FiguresOption, SeedOption
from prophase.cli.trace_options import ReaderOption, SourceOption, TraceArgument


@dataclass(frozen=True)
class LabellerSettings:
    """What finds the phases, and in which samples."""

    labeller: Annotated[
        str,
        typer.Option(help="What finds them: hmm, crbm, samples, windows or change-points."),
    ] = "hmm"
    phases: Annotated[
        int | None, typer.Option(help="Number of phases. [default: what explains most]")
    ] = None
    window: Annotated[
        int | None, typer.Option(help="Samples looked back at. [default: what explains most]")
    ] = None
    hidden: Annotated[int, typer.Option(min=1, help="crbm: number of hidden features.")] = 10
    metric: MetricOption = None
    step: StepOption = None
    min_stay: Annotated[
        str | None,
        typer.Option(
            help=f"Tell no phase for less than this, {units.DURATION_HELP}. [default: any stay]"
        ),
    ] = None


def command(
    path: TraceArgument,
    made: LabellerSettings,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the phases. [default: models/phases.model of a workspace]"),
    ] = None,
    gap: Annotated[
        str | None,
        typer.Option(
            help=f"A longer pause begins a new history, {units.DURATION_HELP}. [default: 5 steps]"
        ),
    ] = None,
    figures: FiguresOption = None,
    seed: SeedOption = 0,
    source: SourceOption = None,
    option: ReaderOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Learn phases from usage series, and keep them in a file.

    Examples:

    `prophase phase fit ws`

    `prophase phase fit ws --min-stay 1min`

    `prophase phase fit pods --source genai2026 --out phases.model --phases 5 --figures drawn`
    """
    from prophase.phase.detector import PhaseDetector
    from prophase.phase.phase_result import phases_result

    target = model_target(path, out)
    with progress_bar() as progress:
        progress("reading the series", None)
        usage = read_usage(path, source, option)
        detector = PhaseDetector(
            made.labeller,
            n_phases=made.phases,
            window=made.window,
            hidden=made.hidden,
            metrics=made.metric or None,
            step_s="auto" if made.step is None else step_seconds(made.step),
            min_stay_s=None
            if made.min_stay is None
            else units.parse_duration(made.min_stay, bare="s", where="--min-stay", positive=True),
            gap_s=None
            if gap is None
            else units.parse_duration(gap, bare="s", where="--gap", positive=True),
            random_state=seed,
        ).fit(usage, progress=progress)
    detector.save(target)
    say(f"Wrote {target}.")
    if figures is not None:
        from prophase.plots.phase_figures import save_figures

        drawn = save_figures(detector, usage, figures)
        say(f"Drew {', '.join(str(one) for one in drawn)}.")
    shown = as_typed(path if out is None else out)
    more = f"Next: prophase phase show {shown}; prophase phase label {shown} SERIES"
    show_result(phases_result(detector, fitted=True, model=str(target)).noted(more), format)
