"""prophase phase show: what is each phase, and what follows it?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, emit, finite, say
from prophase.cli.phase.fit import overview
from prophase.cli.phase.options import ModelArgument, open_phases
from prophase.cli.shared_options import FiguresOption
from prophase.errors import ParameterError


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
    from prophase.phase.phase_summary import phases_as_json

    detector = open_phases(path)
    if figures is not None:
        say(f"Drew {_drawn(detector, figures)}.")
    if phase is None:
        remarks = [*detector.notes_, f"{detector.prototypes_said_}."]
        emit(overview(detector), format, document=finite(phases_as_json(detector)), remarks=remarks)
        return
    if not 0 <= phase < detector.n_phases_:
        raise ParameterError(
            f"there is no phase {phase}; the model has 0 to {detector.n_phases_ - 1}."
        )
    rows = detector.statistics_[detector.statistics_["phase"] == phase].to_dict("records")
    leaving = detector.transitions_[phase]
    total = max(float(leaving.sum()), 1.0)
    follows = sorted(
        ((float(count) / total, number) for number, count in enumerate(leaving) if count),
        reverse=True,
    )
    said: list[str] = []
    if follows:
        told = ", ".join(f"phase {number} {100 * share:.0f} %" for share, number in follows[:4])
        said.append(f"Followed by: {told}.")
    foreseen = detector.next_.forecast(phase)
    if foreseen is not None:
        said.append(
            f"Lasts {foreseen.remaining:.0f} samples (four stays of five: "
            f"{foreseen.remaining_low:.0f} to {foreseen.remaining_high:.0f})."
        )
    whole: dict[str, Any] = {
        "phase": phase,
        "statistics": rows,
        "followed_by": {str(number): share for share, number in follows},
    }
    emit([finite(row) for row in rows], format, document=finite(whole), remarks=said)


def _drawn(detector: Any, folder: Path) -> str:
    from prophase.plots.phase_figures import save_transitions

    return str(save_transitions(detector, folder))
