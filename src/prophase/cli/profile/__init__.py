"""prophase profile: which kinds of job are there, and which kind is this one?"""

from __future__ import annotations

from importlib import import_module

import typer

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "fit": "fit",
    "show": "show",
    "plot": "plot",
    "clusterability": "clusterability",
    "grid": "grid",
    "compare": "compare",
    "classify": "classify",
    "explain": "explain",
}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Group jobs by how they use resources, and see what each group is.

    Examples:

    `prophase profile fit ws`

    `prophase profile show ws 8`
    """,
)
for _name, _module in SUBCOMMANDS.items():
    _found = import_module(f"prophase.cli.profile.{_module}")
    app.command(_name, context_settings=getattr(_found, "CONTEXT", None))(_found.command)
