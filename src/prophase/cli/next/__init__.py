"""prophase next: what to measure next, and what to ask for in a first run."""

from __future__ import annotations

from importlib import import_module

import typer

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
for _name, _module in SUBCOMMANDS.items():
    app.command(_name)(import_module(f"prophase.cli.next.{_module}").command)
