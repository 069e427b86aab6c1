"""prophase phase fit: learn the phases of series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, as_typed, emit, finite, progress_bar, say
from prophase.cli.phase.options import (
    FiguresOption,
    MetricOption,
    StepOption,
    model_target,
    read_usage,
)
from prophase.cli.trace_options import ReaderOption, SourceOption, TraceArgument

if TYPE_CHECKING:
    from prophase.phase.detector import PhaseDetector


def command(
    path: TraceArgument,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the phases. [default: models/phases.model of a workspace]"),
    ] = None,
    labeller: Annotated[
        str,
        typer.Option(help="What finds them: hmm, crbm, samples, windows or change-points."),
    ] = "hmm",
    phases: Annotated[
        int | None, typer.Option(help="Number of phases. [default: what explains most]")
    ] = None,
    window: Annotated[
        int | None, typer.Option(help="Samples looked back at. [default: what explains most]")
    ] = None,
    hidden: Annotated[int, typer.Option(min=1, help="crbm: number of hidden features.")] = 10,
    metric: MetricOption = None,
    step: StepOption = None,
    gap: Annotated[
        float | None,
        typer.Option(help="A longer pause, in s, begins a history anew. [default: 5 steps]"),
    ] = None,
    figures: FiguresOption = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    source: SourceOption = None,
    option: ReaderOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Learn phases from usage series, and keep them in a file.

    Examples:

    `prophase phase fit ws`

    `prophase phase fit pods --source genai2026 --out phases.model --phases 5 --figures drawn`
    """
    from prophase.phase.detector import PhaseDetector
    from prophase.phase.model_selection import reason
    from prophase.phase.phase_summary import phases_as_json

    target = model_target(path, out)
    with progress_bar() as progress:
        progress("reading the series", None)
        usage = read_usage(path, source, option)
        detector = PhaseDetector(
            labeller,
            n_phases=phases,
            window=window,
            hidden=hidden,
            metrics=metric or None,
            step_s=step,
            gap_s=gap,
            random_state=seed,
        ).fit(usage, progress=progress)
    target.parent.mkdir(parents=True, exist_ok=True)
    detector.save(target)
    say(f"Wrote {target}.")
    if figures is not None:
        from prophase.plots.phase_figures import save_figures

        drawn = save_figures(detector, usage, figures)
        say(f"Drew {', '.join(str(one) for one in drawn)}.")
    shown = as_typed(path if out is None else out)
    why = reason(detector.trials_, detector.n_phases_, detector.labeller_.history)
    emit(
        overview(detector),
        format,
        document=finite({"model": str(target), **phases_as_json(detector)}),
        remarks=[
            *detector.notes_,
            *([why] if why else []),
            f"{detector.prototypes_said_}.",
            f"Next: prophase phase show {shown}; prophase phase label {shown} SERIES",
        ],
    )


def overview(detector: PhaseDetector) -> list[dict[str, Any]]:
    """Return a row per phase: how much of the time, how long, and what is used."""
    rows = []
    for held in detector.lengths_.to_dict("records"):
        number = int(held["phase"])
        inside = detector.statistics_[detector.statistics_["phase"] == number]
        row: dict[str, Any] = {
            "phase": number,
            "share_pct": float(inside["share_pct"].iloc[0]),
            "stays": int(held["stays"]),
            "median_samples": held["median_samples"],
        }
        for _, one in inside.head(4).iterrows():
            row[f"{one['metric']}_q50"] = one["q50"]
            row[f"{one['metric']}_q95"] = one["q95"]
        rows.append(finite(row))
    return rows
