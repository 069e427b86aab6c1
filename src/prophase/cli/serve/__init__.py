"""prophase serve: everything over HTTP and in a browser."""

from __future__ import annotations

from importlib import import_module

import typer
from typer.core import TyperGroup

#: subcommand -> module of this folder; the order is that of the help page
SUBCOMMANDS = {"start": "start"}


class _StartByDefault(TyperGroup):
    """``prophase serve ws`` is short for ``prophase serve start ws``."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = ["start", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_StartByDefault,
    rich_markup_mode="markdown",
    help="""Answer over HTTP and in a browser.

    Examples:

    `prophase serve ws`
    """,
)
for _name, _module in SUBCOMMANDS.items():
    app.command(_name)(import_module(f"prophase.cli.serve.{_module}").command)
