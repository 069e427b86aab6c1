"""prophase size: what should tasks ask for?"""

from __future__ import annotations

import typer
from typer.core import TyperGroup

from prophase.cli.provenance import add_commands

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {
    "advise": "advise",
    "replay": "replay",
    "watch": "watch",
}


class _AdviseByDefault(TyperGroup):
    """``prophase size ws`` is short for ``prophase size advise ws``."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["advise", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_AdviseByDefault,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="""Say what each task should ask for, at a risk you choose, and prove the saving.

    Examples:

    `prophase size ws --risk 1%`

    `prophase size ws --export nextflow`

    `prophase size replay ws --sizers request,krr,default`
    """,
)
add_commands(app, __name__, SUBCOMMANDS)
