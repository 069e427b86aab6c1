"""Options of commands that take a trace: where it is, who reads it, what may be replaced."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from prophase import units
from prophase.cli.settings import Formerly
from prophase.errors import ParameterError

TraceArgument = Annotated[Path, typer.Argument(help="A workspace, or a file or folder of a trace.")]
SourceOption = Annotated[
    str | None, typer.Option(help="Reader to use; recognised by the columns if left out.")
]
ReaderOption = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", help="Setting of the reader as NAME=VALUE; repeatable."),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Say or correct a column of the job, such as user=ann; repeatable.",
    ),
]
MappingOption = Annotated[
    Path | None,
    typer.Option(
        "--map",
        help="csv: TOML file that says what columns and units mean. [default: guessed]",
    ),
]
BY = typer.Option(
    "--by",
    help="Group jobs by these columns, such as user,name; replays also by class or gpus.",
)
MAX_BAD = typer.Option(help="Share of damaged rows that may be left out before it is an error.")
UrlOption = Annotated[
    str | None,
    typer.Option(help="Address of the Prometheus server to ask."),
    Formerly("--prometheus"),
]
LastOption = Annotated[
    str,
    typer.Option(help=f"Prometheus: how far back to ask, {units.DURATION_HELP}."),
    Formerly("--since"),
]
STEP = typer.Option(help=f"Time between two samples, {units.DURATION_HELP}.")
StepOption = Annotated[str, STEP]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Replace tables of that name.")]


def named_values(pairs: Iterable[str] | None, option: str = "--option") -> dict[str, str]:
    """Return the values of an option that takes NAME=VALUE, by name.

    Examples
    --------
    >>> named_values(["columns=JobID|State", "map="])
    {'columns': 'JobID|State', 'map': ''}
    """
    found = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ParameterError(f"{option} {pair!r}: write it as NAME=VALUE.")
        found[name] = value
    return found
