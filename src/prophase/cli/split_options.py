"""Options of commands that learn from one part of the data and test on the other."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from prophase import units
from prophase.cli.settings import Formerly
from prophase.errors import ParameterError


class SplitBy(StrEnum):
    """What keeps the two sides apart."""

    time = "time"
    job = "job"
    user = "user"
    row = "row"


SplitOption = Annotated[
    SplitBy, typer.Option(help="What keeps the training and the test side apart."), Formerly("--by")
]
TestShareOption = Annotated[str, typer.Option(help="Share of the data on the test side.")]
CutOption = Annotated[
    str | None,
    typer.Option(help="By time: first moment of the test side, in seconds or as a date."),
]
TrainOption = Annotated[
    Path | None,
    typer.Option(help="The training side, where it is a trace of its own; goes with --test."),
    Formerly("--fit"),
]
TestOption = Annotated[
    Path | None, typer.Option(help="The test side, where it is a trace of its own.")
]


def moment(text: str) -> float:
    """Read seconds, or a date, which counts as the trace writes it: without a time zone."""
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return units.parse_moment(text)
    except ParameterError as cause:
        raise ParameterError(
            f"--cut {text!r}: pass seconds on the trace's clock, or a date such as 2017-11-01."
        ) from cause
