"""prophase runs: have many runs of a pipeline deployed, executed and profiled."""

from __future__ import annotations

import typer

from prophase.cli.made_from import add_commands

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "demo": "demo",
    "init": "init",
    "register": "register",
    "work": "work",
    "tick": "tick",
    "status": "status",
    "show": "show",
    "reset": "reset",
    "set": "set_",
    "profile": "profile",
    "export": "export",
}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Run a pipeline for many scenarios and dates, unattended, and measure every task.

    Examples:

    `prophase runs init pipeline.yaml`

    `prophase runs register scenarios.yaml --dates 2024-01-01..2024-03-31/7`

    `prophase runs work`
    """,
)
add_commands(app, __name__, SUBCOMMANDS)
