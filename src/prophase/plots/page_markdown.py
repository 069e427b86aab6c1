"""A page as Markdown: the same sections, for wikis, tickets and pull requests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from prophase import units
from prophase.plots.page import (
    Block,
    Bullets,
    Callout,
    Cards,
    Code,
    Facts,
    Heading,
    Links,
    Page,
    Paragraph,
    Picture,
    Table,
)

_SPECIAL = re.compile(r"([\\`*_\[\]<>|])")
_HTML = re.compile(r"([\\<|])")


def render_markdown(page: Page, pictures: Mapping[int, str] | None = None) -> str:
    """Return the page as Markdown text.

    Parameters
    ----------
    page : Page
        What to write.
    pictures : mapping of int to str, optional
        Place of a figure in the page (from 0) -> address of its file; a figure without one is
        told by its caption.

    Examples
    --------
    >>> from prophase.plots.page import Section
    >>> page = Page("Report", [Section("Result", [Facts([("jobs", "12")])])])
    >>> print(render_markdown(page))
    # Report
    <BLANKLINE>
    ## Result
    <BLANKLINE>
    - jobs: **12**
    <BLANKLINE>
    """
    writer = _Writer(pictures or {})
    parts = [f"# {_safe(page.title)}"]
    if page.subtitle:
        parts.append(_safe(page.subtitle))
    parts += writer.blocks(page.lead)
    for section in page.sections:
        parts.append(f"## {_safe(section.title)}")
        parts += writer.blocks(section.blocks)
    if page.about:
        parts.append("## About this page")
        parts.append("\n".join(f"- {_safe(key)}: `{text}`" for key, text in page.about.items()))
    return "\n\n".join(parts) + "\n"


class _Writer:
    """Counts the figures of a page while it writes its blocks."""

    def __init__(self, pictures: Mapping[int, str]) -> None:
        self.pictures = pictures
        self.drawn = 0

    def blocks(self, blocks: Sequence[Block]) -> list[str]:
        return [text for block in blocks if (text := self._block(block))]

    def _block(self, block: Block) -> str:
        match block:
            case Heading(text):
                return f"### {_safe(text)}"
            case Paragraph(text):
                return _safe(text)
            case Bullets(items):
                return "\n".join(f"- {_safe(item)}" for item in items)
            case Links(items):
                return " · ".join(f"[{_safe(text)}](<{at}>)" for text, at in items)
            case Code(text):
                return f"```text\n{text}\n```"
            case Callout(text, _, title):
                return f"> **{_safe(title)}** {_safe(text)}" if title else f"> {_safe(text)}"
            case Facts(items):
                return "\n".join(f"- {_safe(label)}: **{_safe(value)}**" for label, value in items)
            case Cards(items):
                return "\n".join(
                    f"- {_safe(card.question)} **{_safe(card.value)}** {_safe(card.text)}".rstrip()
                    for card in items
                )
            case Table(rows, caption):
                return _table(rows, caption)
            case Picture(_, caption, alt):
                at = self.pictures.get(self.drawn)
                caption = caption or alt
                self.drawn += 1
                return f"![{_safe(caption)}](<{at}>)" if at else f"*Figure: {_safe(caption)}*"


def _table(rows: Sequence[Mapping[str, Any]], caption: str) -> str:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    if not columns:
        return ""
    numeric = [
        all(not isinstance(row.get(column), str | bool) for row in rows) for column in columns
    ]
    lines = [f"*{_safe(caption)}*\n"] if caption else []
    lines.append("| " + " | ".join(_cell(column) for column in columns) + " |")
    lines.append("|" + "|".join("---:" if number else "---" for number in numeric) + "|")
    lines += [
        "| " + " | ".join(_cell(units.cell(row.get(column))) for column in columns) + " |"
        for row in rows
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return _HTML.sub(r"\\\1", str(text)).replace("\n", " ")


def _safe(text: str) -> str:
    """Return text whose signs Markdown does not read as its own."""
    return _SPECIAL.sub(r"\\\1", str(text))
