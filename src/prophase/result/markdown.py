"""A result as Markdown: the same sections, for wikis, tickets and pull requests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from prophase import units
from prophase.result.blocks import (
    Block,
    Bullets,
    Cards,
    Code,
    Facts,
    Heading,
    Links,
    Note,
    Picture,
    Table,
    Text,
)
from prophase.result.chart import Chart
from prophase.result.document import Result
from prophase.result.page_parts import about, lead, page_sections

_SPECIAL = re.compile(r"([\\`*_\[\]<>|])")
_HTML = re.compile(r"([\\<|])")


def render(result: Result, figures: Mapping[str, str] | None = None) -> str:
    """Return the result as Markdown text.

    Parameters
    ----------
    figures : mapping of str to str, optional
        Key of a chart or picture -> address of its file; a figure without one is told by its
        caption.

    Examples
    --------
    >>> from prophase.result import Fact, Section
    >>> facts = Section("result", "Result", [Facts([Fact("jobs", "jobs", 12)])])
    >>> print(render(Result("report", "Report", sections=[facts])))
    # Report
    <BLANKLINE>
    ## Result
    <BLANKLINE>
    - jobs: **12**
    <BLANKLINE>
    """
    files = figures or {}
    parts = [f"# {_safe(result.title)}"]
    if result.question:
        parts.append(_safe(result.question))
    parts += _blocks(lead(result), files)
    for section in page_sections(result):
        if section.title:
            parts.append(f"## {_safe(section.title)}")
        parts += _blocks(section.blocks, files)
        if section.command:
            parts.append(f"`{section.command}`")
    if told := about(result):
        parts.append("## About this page")
        parts.append("\n".join(f"- {_safe(key)}: `{text}`" for key, text in told.items()))
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: Sequence[Block], files: Mapping[str, str]) -> list[str]:
    return [text for block in blocks if (text := _block(block, files))]


def _block(block: Block, files: Mapping[str, str]) -> str:
    match block:
        case Heading(text):
            return f"### {_safe(text)}"
        case Text(text):
            return _safe(text)
        case Bullets(items):
            return "\n".join(f"- {_safe(item)}" for item in items)
        case Links(items):
            return " · ".join(f"[{_safe(text)}](<{at}>)" for text, at in items)
        case Code(text):
            return f"```text\n{text}\n```"
        case Note(text, _, title):
            return f"> **{_safe(title)}** {_safe(text)}" if title else f"> {_safe(text)}"
        case Facts(items):
            return "\n".join(f"- {_safe(one.label)}: **{_safe(one.text())}**" for one in items)
        case Cards(items):
            return "\n".join(
                f"- {_safe(card.question)} **{_safe(card.value)}** {_safe(card.text)}".rstrip()
                for card in items
            )
        case Table():
            return _table(block.for_people())
        case Chart(key, title, rows=rows, caption=caption):
            return _figure(files.get(key), caption or title) if rows else ""
        case Picture(key, caption=caption, alt=alt):
            return _figure(files.get(key), caption or alt)


def _figure(file: str | None, caption: str) -> str:
    return f"![{_safe(caption)}](<{file}>)" if file else f"*Figure: {_safe(caption)}*"


def _table(table: Table) -> str:
    columns = table.columns
    if not columns:
        return ""
    lines = [f"*{_safe(table.caption)}*\n"] if table.caption else []
    lines.append("| " + " | ".join(_cell(column) for column in columns) + " |")
    aligned = ("---:" if table.numeric(column) else "---" for column in columns)
    lines.append("|" + "|".join(aligned) + "|")
    lines += [
        "| " + " | ".join(_cell(units.cell(row.get(c), missing="–")) for c in columns) + " |"
        for row in table.rows
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return _HTML.sub(r"\\\1", str(text)).replace("\n", " ")


def _safe(text: str) -> str:
    """Return text whose signs Markdown does not read as its own."""
    return _SPECIAL.sub(r"\\\1", str(text))
