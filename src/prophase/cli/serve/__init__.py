"""prophase serve: everything over HTTP and in a browser."""

from __future__ import annotations

import typer
from typer.core import TyperGroup

from prophase.cli.serve import start, token


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

    `prophase serve token add ci --role feedback --workspace ws`
    """,
)
app.command("start")(start.command)
app.add_typer(token.app, name="token")
