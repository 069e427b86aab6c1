"""prophase phase: what is a container doing now, and what comes next?"""

from __future__ import annotations

import typer

from prophase.cli.provenance import add_commands

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "fit": "fit",
    "label": "label",
    "show": "show",
    "expand": "expand",
    "sweep": "sweep",
}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Find the phases of series, label others as they run, and see what each phase is.

    Examples:

    `prophase phase fit ws`

    `prophase phase label ws more.csv --follow`
    """,
)
add_commands(app, __name__, SUBCOMMANDS)
