"""prophase phase expand: give new behaviour phases of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, say, show_result
from prophase.cli.phase.options import ModelArgument, model_path, open_phases, read_usage
from prophase.cli.trace_options import ReaderOption, SourceOption


def command(
    path: ModelArgument,
    series: Annotated[Path, typer.Argument(help="Series with new behaviour.")],
    phase: Annotated[
        int | None, typer.Option(help="Phase to split. [default: the one with most that is new]")
    ] = None,
    groups: Annotated[
        int | None, typer.Option(help="Number of new phases. [default: as many as are worth it]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the phases. [default: the one that was read]")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and stop.")
    ] = False,
    source: SourceOption = None,
    option: ReaderOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Split the phase that takes most of the new behaviour; old phases keep their numbers.

    Examples:

    `prophase phase expand phases.model vr.csv --dry-run`

    `prophase phase expand phases.model vr.csv --out more.model`
    """
    from prophase.phase.phase_expansion import expand, propose

    detector = open_phases(path)
    usage = read_usage(series, source, option)
    found = (
        propose(detector, usage) if dry_run else expand(detector, usage, phase=phase, groups=groups)
    )
    if found.added:
        target = out or model_path(path)
        detector.save(target)
        say(f"Wrote {target}.")
    show_result(found.result(), format)
