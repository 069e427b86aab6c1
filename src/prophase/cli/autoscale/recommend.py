"""prophase autoscale recommend: what a saved policy gives to series that go on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophase.cli.output import Format, FormatOption, show_result
from prophase.cli.phase.options import read_usage
from prophase.cli.trace_options import SourceOption


def command(
    policy: Annotated[Path, typer.Argument(help="File of prophase autoscale fit.")],
    path: Annotated[
        Path,
        typer.Argument(metavar="SERIES", help="A workspace, or a file or folder with series."),
    ],
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Answer what each series should be given until its next decision.

    The last uninterrupted run of each series counts. The answer is that of the back-test at
    this sample.

    Examples:

    `prophase autoscale recommend memory.policy series.csv`
    """
    from prophase.autoscale.recommendation_result import recommendation_result
    from prophase.study.phase_scaling import load_policy

    held = load_policy(policy)
    show_result(recommendation_result(held, read_usage(path, source, None)), format)
