"""Build one self-contained HTML page: sections of text, tables, figures and callouts.

The page asks nothing of the network and runs no script. It is readable on a phone, in the
dark and on paper. Everything that is put into it is escaped.
"""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from matplotlib.figure import Figure

from prophase import units
from prophase.errors import storage_error
from prophase.plots.page_css import STYLESHEET
from prophase.plots.style import to_svg

_NUMBER_AND_UNIT = re.compile(r"(\d) (?=(?:ms|s|min|h|d|%|GiB|GPUs|cores)(?!\w))")
#: percent signs stand off their number on every page
_BARE_PERCENT = re.compile(r"(\d)%(?!\w)")

#: characters from which on a cell is a sentence
_LONG_TEXT = 36

#: the interval behind a number is set smaller than the number
_INTERVAL, _SMALL = re.compile(r" (\(\S+ to \S+\))$"), r" <small>\1</small>"

CalloutKind = Literal["note", "good", "warning", "bad"]


@dataclass(frozen=True)
class Heading:
    """A heading inside a section, coloured by its kind."""

    text: str
    kind: CalloutKind = "note"


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """Short sentences, one below the other."""

    items: Sequence[str]


@dataclass(frozen=True)
class Links:
    """Files that lie beside the page: pairs of text and relative address."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Code:
    """A command or a piece of text to copy."""

    text: str


@dataclass(frozen=True)
class Callout:
    """Something the reader must not miss."""

    text: str
    kind: CalloutKind = "note"
    title: str = ""


@dataclass(frozen=True)
class Facts:
    """A few large numbers with what they mean below."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Card:
    """A question, its answer in large letters, a sentence, and the section that tells more."""

    question: str
    value: str
    text: str = ""
    section: str = ""


@dataclass(frozen=True)
class Cards:
    """The questions a reader comes with, answered side by side."""

    items: Sequence[Card]


@dataclass(frozen=True)
class Table:
    """Rows as mappings; the keys of all rows are the columns."""

    rows: Sequence[Mapping[str, Any]]
    caption: str = ""
    #: more rows than this fold away behind a summary
    open_rows: int = 25


@dataclass(frozen=True)
class Picture:
    """A figure with its caption; ``alt`` says in words what it shows."""

    figure: Figure
    caption: str
    alt: str = ""
    #: bitmaps suit scatter plots of many points
    as_bitmap: bool = False


Block = Heading | Paragraph | Bullets | Links | Code | Callout | Facts | Cards | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: Sequence[Block] = ()


@dataclass(frozen=True)
class Page:
    """A whole page; ``about`` closes it: data, version, command.

    Examples
    --------
    >>> page = Page("Report", [Section("Result", [Paragraph("3 < 4")])])
    >>> "3 &lt; 4" in render(page)
    True
    """

    title: str
    sections: Sequence[Section]
    subtitle: str = ""
    #: shown before the first section
    lead: Sequence[Block] = ()
    about: Mapping[str, str] = field(default_factory=dict)


def render(page: Page) -> str:
    """Return the page as HTML text."""
    names = _anchors([section.title for section in page.sections])
    counter = _Counter()
    contents = "".join(
        f'<li><a href="#{name}">{_safe(section.title)}</a></li>'
        for name, section in zip(names, page.sections, strict=True)
    )
    body = "\n".join(
        f'<section id="{name}"><h2>{_safe(section.title)}</h2>\n'
        f"{_blocks(section.blocks, counter)}</section>"
        for name, section in zip(names, page.sections, strict=True)
    )
    subtitle = f'<p class="subtitle">{_safe(page.subtitle)}</p>' if page.subtitle else ""
    toc = f'<nav aria-label="Contents"><ul>{contents}</ul></nav>' if len(names) > 2 else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{_safe(page.title)}</title>\n<style>{STYLESHEET}</style></head>\n"
        f"<body><header><h1>{_safe(page.title)}</h1>{subtitle}</header>\n<main>\n"
        # what came out stands before the way to the parts
        f"{_blocks(page.lead, counter)}\n{toc}\n{body}\n</main>\n"
        f"{_about(page.about)}</body></html>\n"
    )


def write_page(page: Page, target: Path) -> None:
    """Write the page; an old one is replaced only when the new one is complete."""
    text = render(page)
    part = target.with_name(target.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(target)
    except OSError as cause:
        raise storage_error(cause, target) from cause


@dataclass
class _Counter:
    """Gives every figure of a page a name of its own."""

    number: int = 0

    def next(self) -> str:
        self.number += 1
        return f"f{self.number}"


def _blocks(blocks: Sequence[Block], counter: _Counter) -> str:
    """Render blocks in order; figures in a row share a grid, tables in a row share lines.

    A single figure has the tables that follow beside it, where they fit.
    """
    parts: list[str] = []
    alone = False
    spoken = False
    for kind, run in groupby(blocks, key=type):
        if kind is Picture:
            drawn = [_picture(block, counter.next()) for block in run]  # type: ignore[arg-type]
            alone = len(drawn) == 1
            figures = f'<div class="figures{" one" * alone}">{"".join(drawn)}</div>'
            if spoken and alone:
                # words and the figure they are about stand side by side where there is room
                figures = f'<div class="told"><div>{"".join(parts)}</div>{figures}</div>'
                parts.clear()
                alone = False
            parts.append(figures)
            spoken = False
            continue
        spoken = kind in (Paragraph, Bullets) and not parts
        if kind is Table:
            held = list(run)
            tables = f'<div class="tables">{"".join(_block(block) for block in held)}</div>'
            if alone and not all(_folds(block) for block in held):  # type: ignore[arg-type]
                tables = f'<div class="beside">{parts.pop()}{tables}</div>'
            parts.append(tables)
        else:
            parts += [_block(block) for block in run]
        alone = False
    return "\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text, kind):
            return f'<h3 class="{kind}">{_safe(text)}</h3>'
        case Paragraph(text):
            return f"<p>{_prose(text)}</p>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{_prose(item)}</li>' for item in items)}</ul>"
        case Links(items):
            linked = (f'<a href="{_safe(quote(at))}">{_safe(text)}</a>' for text, at in items)
            return f"<p>{' · '.join(linked)}</p>"
        case Code(text):
            return f"<pre><code>{_safe(text)}</code></pre>"
        case Callout(text, kind, title):
            heading = f"<strong>{_safe(title)}</strong> " if title else ""
            return f'<p class="callout {kind}">{heading}{_prose(text)}</p>'
        case Facts(items):
            return _facts(items)
        case Cards(items):
            return _cards(items)
        case Table():
            return _table(block)
        case Picture():
            return _picture(block, "f0")


def _facts(items: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f"<div><dt>{_safe(label)}</dt><dd>{_INTERVAL.sub(_SMALL, _safe(value))}</dd></div>"
        for label, value in items
    )
    return f'<dl class="facts">{cells}</dl>'


def _cards(items: Sequence[Card]) -> str:
    parts = []
    for card in items:
        asked = _safe(card.question)
        if card.section:
            asked = f'<a href="#{_anchor(card.section)}">{asked}</a>'
        value = _INTERVAL.sub(_SMALL, _safe(card.value))
        text = f"<p>{_prose(card.text)}</p>" if card.text else ""
        parts.append(f"<div><h2>{asked}</h2><p><strong>{value}</strong></p>{text}</div>")
    return f'<div class="cards">{"".join(parts)}</div>'


def _folds(table: Table) -> bool:
    return len(table.rows) > table.open_rows


def _table(table: Table) -> str:
    columns = list(dict.fromkeys(column for row in table.rows for column in row))
    numeric = [
        all(_is_number(row.get(column)) for row in table.rows)
        and any(row.get(column) is not None for row in table.rows)
        for column in columns
    ]
    kinds = [
        ' class="n"' if number else (' class="w"' if _is_long(table, column) else "")
        for number, column in zip(numeric, columns, strict=True)
    ]
    head = "".join(
        f'<th scope="col"{kind}>{_safe(column)}</th>'
        for column, kind in zip(columns, kinds, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}>{_safe(units.cell(row.get(column)))}</td>"
            for column, kind in zip(columns, kinds, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    told = table.caption and not _folds(table)
    caption = f"<caption>{_safe(table.caption)}</caption>" if told else ""
    whole = (
        f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    if not _folds(table):
        return whole
    count = f"{len(table.rows):,} {'row' if len(table.rows) == 1 else 'rows'}"
    summary = table.caption or "Table"
    return f"<details><summary>{_safe(summary)} ({count})</summary>{whole}</details>"


def _picture(picture: Picture, name: str) -> str:
    alt = _safe(picture.alt or picture.caption)
    if picture.as_bitmap:
        out = io.BytesIO()
        picture.figure.savefig(out, format="png", dpi=160, metadata={"Software": None})
        data = base64.b64encode(out.getvalue()).decode("ascii")
        drawn = f'<img alt="{alt}" src="data:image/png;base64,{data}">'
    else:
        svg = to_svg(picture.figure, name=name, inline=True)
        drawn = f'<div role="img" aria-label="{alt}">{svg}</div>'
    caption = f"<figcaption>{_prose(picture.caption)}</figcaption>" if picture.caption else ""
    return f"<figure>{drawn}{caption}</figure>"


def _about(facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    rows = "".join(f"<dt>{_safe(k)}</dt><dd>{_safe(v)}</dd>" for k, v in facts.items())
    return f"<footer><h2>About this page</h2><dl>{rows}</dl></footer>\n"


def _anchors(titles: Sequence[str]) -> list[str]:
    """Return an id per title, different even if titles repeat."""
    names: list[str] = []
    for title in titles:
        name = _anchor(title)
        copies = sum(1 for known in names if known == name or known.startswith(f"{name}--"))
        names.append(f"{name}--{copies + 1}" if copies else name)
    return names


def _anchor(title: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
    # figures are called f1, f2, ...; sections must not be
    return f"s-{name}"


def _is_long(table: Table, column: str) -> bool:
    """Say whether a column holds sentences, which may break into lines."""
    return any(len(units.cell(row.get(column))) > _LONG_TEXT for row in table.rows)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _prose(text: str) -> str:
    """Escape a sentence and keep its numbers on the line of their units."""
    return _safe(_NUMBER_AND_UNIT.sub("\\1\u00a0", _BARE_PERCENT.sub(r"\1 %", text)))


def _safe(text: Any) -> str:
    return html.escape(str(text), quote=True)
