"""The page that ``--format html`` and ``--format markdown`` write for any result."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from prophase.plain import finite
from prophase.plots.page import Page, render
from prophase.plots.page_markdown import render_markdown
from prophase.plots.result_page import result_page


def plain_page(
    rows: Sequence[Mapping[str, Any]],
    document: Mapping[str, Any] | None,
    remarks: Sequence[str],
    command: str,
) -> Page:
    """Return the page of a result, titled and introduced by the command that made it."""
    title, question = _asked(sys.argv[1:])
    values = finite([list(rows), document])
    return result_page(
        values[0],
        title=title,
        question=question,
        document=values[1],
        remarks=remarks,
        command=command,
    )


def page_text(page: Page, *, markdown: bool) -> str:
    """Return a page as HTML or Markdown."""
    return render_markdown(page) if markdown else render(page)


def _asked(arguments: Sequence[str]) -> tuple[str, str]:
    """Return the command that was typed, and the first sentence of its help."""
    import typer

    from prophase.cli.main import app

    command: Any = typer.main.get_command(app)
    words = ["prophase"]
    for argument in arguments:
        inner = getattr(command, "commands", {}).get(argument)
        if inner is not None:
            words.append(argument)
            command = inner
    told = (command.help or "").split("\n\n")[0]
    return " ".join(words), " ".join(told.split())
