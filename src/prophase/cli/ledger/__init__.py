"""prophase ledger: was the advice worth it?"""

from __future__ import annotations

import typer

from prophase.cli.provenance import add_commands

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "add": "add",
    "settle": "settle",
    "show": "show",
}

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Keep every advice with its promise, and settle it against what happened.

    Examples:

    `prophase ledger add advice.json --history ws`

    `prophase ledger settle later-jobs.csv --ledger ws`

    `prophase ledger show ws --prices prices.toml`
    """,
)
add_commands(app, __name__, SUBCOMMANDS)
