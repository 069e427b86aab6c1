"""prophase next: what to measure next, and what to ask for in a first run."""

from __future__ import annotations

import typer

from prophase.cli.provenance import add_commands

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "measure": "measure",
    "first-run": "first_run",
}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Say what to measure next, and what a job should ask for that nobody has run before.

    Examples:

    `prophase next measure ws --out scenarios.yaml`

    `prophase next first-run job.yaml --history ws`
    """,
)
add_commands(app, __name__, SUBCOMMANDS)
