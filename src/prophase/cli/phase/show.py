"""prophase phase show: what is each phase, and what follows it?"""

from __future__ import annotations

from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, say, show_result
from prophase.cli.phase.options import ModelArgument, open_phases
from prophase.cli.shared_options import FiguresOption


def command(
    path: ModelArgument,
    phase: Annotated[int | None, typer.Argument(help="Number of one phase. All else.")] = None,
    figures: FiguresOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Say what phases use, how long they last, and which one follows.

    Examples:

    `prophase phase show ws`

    `prophase phase show phases.model 2 --figures drawn`
    """
    from prophase.phase.phase_result import phase_result, phases_result

    detector = open_phases(path)
    if figures is not None:
        from prophase.plots.phase_figures import save_transitions

        say(f"Drew {save_transitions(detector, figures)}.")
    result = phases_result(detector) if phase is None else phase_result(detector, phase)
    show_result(result, format)
