"""prophase profile: which kinds of job are there, and which kind is this one?"""

from __future__ import annotations

import typer

from prophase.cli.provenance import add_commands

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
add_commands(app, __name__, SUBCOMMANDS)
