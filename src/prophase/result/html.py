"""A result as one self-contained HTML page.

The page asks nothing of the network and runs no script. It is readable on a phone, in the
dark and on paper. Everything that is put into it is escaped. How a chart is drawn, the caller
says: `prophase.plots` does it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, count, groupby
from urllib.parse import quote

from prophase import units
from prophase.result.blocks import (
    Answer,
    Block,
    Bullets,
    Cards,
    Code,
    Fact,
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
from prophase.result.stylesheet import STYLESHEET

_NUMBER_AND_UNIT = re.compile(r"(\d) (?=(?:ms|s|min|h|d|%|GiB|GPUs|cores)(?!\w))")
#: percent signs stand off their number on every page
_BARE_PERCENT = re.compile(r"(\d)%(?!\w)")
#: characters from which on a cell is a sentence
_LONG_TEXT = 36
#: more rows than this fold away behind a summary
_OPEN_ROWS = 25
#: the interval behind a number is set smaller than the number
_INTERVAL, _SMALL = re.compile(r" (\(\S+ to \S+\))$"), r" <small>\1</small>"

#: returns a chart or picture as SVG or an image, given a name that is unique on the page
Draw = Callable[[Chart | Picture, str], str]


def render(result: Result, draw: Draw | None = None) -> str:
    """Return the page of a result; without ``draw``, charts are shown by their numbers.

    Examples
    --------
    >>> from prophase.result import Section
    >>> told = Result("report", "Report", sections=[Section("a", "A", [Text("3 < 4")])])
    >>> "3 &lt; 4" in render(told)
    True
    """
    sections = page_sections(result)
    page = _Page(draw, {section.key for section in sections})
    first = [block for section in sections if not section.title for block in section.blocks]
    titled = [section for section in sections if section.title]
    contents = "".join(
        f'<li><a href="#{_anchor(section.key)}">{_safe(section.title)}</a></li>'
        for section in titled
    )
    opening = page.blocks([*lead(result), *first])
    body = "\n".join(
        f'<section id="{_anchor(section.key)}"><h2>{_safe(section.title)}</h2>\n'
        f"{page.blocks(section.blocks)}{_made_by(section.command)}</section>"
        for section in titled
    )
    subtitle = f'<p class="subtitle">{_safe(result.question)}</p>' if result.question else ""
    toc = f'<nav aria-label="Contents"><ul>{contents}</ul></nav>' if len(titled) > 2 else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{_safe(result.title)}</title>\n<style>{STYLESHEET}</style></head>\n"
        f"<body><header><h1>{_safe(result.title)}</h1>{subtitle}</header>\n<main>\n"
        # what came out stands before the way to the parts
        f"{opening}\n{toc}\n{body}\n</main>\n"
        f"{_about(about(result))}</body></html>\n"
    )


class _Page:
    """Gives every figure of a page a name of its own while blocks are written."""

    def __init__(self, draw: Draw | None, keys: set[str]) -> None:
        self.draw, self.keys, self.numbers = draw, keys, count(1)

    def blocks(self, blocks: Sequence[Block]) -> str:
        """Render blocks in order; figures in a row share a grid, tables in a row share lines.

        A single figure has the tables that follow beside it, where they fit.
        """
        parts: list[str] = []
        alone = False
        spoken = False
        for kind, run in groupby(chain.from_iterable(map(self._shown, blocks)), key=_kind):
            if kind is Picture:
                drawn = [self._figure(block) for block in run]
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
            spoken = kind in (Text, Bullets) and not parts
            held = list(run)
            written = [self._block(block) for block in held]
            if kind is Table:
                tables = f'<div class="tables">{"".join(written)}</div>'
                if alone and not all(_folds(block) for block in held):
                    tables = f'<div class="beside">{parts.pop()}{tables}</div>'
                written = [tables]
            parts += written
            alone = False
        return "\n".join(parts) + "\n"

    def _shown(self, block: Block) -> Iterator[Block]:
        """Yield a block as it is shown: nothing of what is empty, numbers of what is not drawn."""
        match block:
            case Chart(key, title, _, rows):
                if rows and self.draw is None:
                    yield Table(key, rows, title).for_people()
                elif rows:
                    yield block
            case Table(rows=rows):
                if rows:
                    yield block.for_people()
            case Picture(caption=caption):
                yield Text(f"Figure: {caption}") if self.draw is None else block
            case _:
                yield block

    def _block(self, block: Block) -> str:
        match block:
            case Heading(text, tone):
                return f'<h3 class="{tone}">{_safe(text)}</h3>'
            case Text(text):
                return f"<p>{_prose(text)}</p>"
            case Bullets(items):
                return f"<ul>{''.join(f'<li>{_prose(item)}</li>' for item in items)}</ul>"
            case Links(items):
                linked = (f'<a href="{_safe(quote(at))}">{_safe(text)}</a>' for text, at in items)
                return f"<p>{' · '.join(linked)}</p>"
            case Code(text):
                return f"<pre><code>{_safe(text)}</code></pre>"
            case Note(text, tone, title):
                heading = f"<strong>{_safe(title)}</strong> " if title else ""
                return f'<p class="callout {tone}">{heading}{_prose(text)}</p>'
            case Facts(items):
                return _facts(items)
            case Cards(items):
                return f'<div class="cards">{"".join(self._card(card) for card in items)}</div>'
            case Table():
                return _table(block)
            case Chart() | Picture():
                return self._figure(block)

    def _card(self, card: Answer) -> str:
        asked = _safe(card.question)
        if card.section in self.keys:
            asked = f'<a href="#{_anchor(card.section)}">{asked}</a>'
        text = f"<p>{_prose(card.text)}</p>" if card.text else ""
        value = f"<p><strong>{_sized(card.value)}</strong></p>"
        return f"<div><h2>{asked}</h2>{value}{text}{_made_by(card.command)}</div>"

    def _figure(self, block: Block) -> str:
        assert isinstance(block, Chart | Picture)
        assert self.draw is not None
        name = f"f{next(self.numbers)}"
        alt = block.title if isinstance(block, Chart) else block.alt or block.caption
        drawn = f'<div role="img" aria-label="{_safe(alt)}">{self.draw(block, name)}</div>'
        caption = f"<figcaption>{_prose(block.caption)}</figcaption>" if block.caption else ""
        return f"<figure>{drawn}{caption}</figure>"


def _kind(block: Block) -> type:
    return Picture if isinstance(block, Chart) else type(block)


def _made_by(command: str) -> str:
    """Return the command behind a number; a click on it selects the whole of it."""
    if not command:
        return ""
    return (
        '<details class="made"><summary>The command that makes this</summary>'
        f"<pre><code>{_safe(command)}</code></pre></details>"
    )


def _facts(items: Sequence[Fact]) -> str:
    cells = "".join(
        f"<div><dt>{_safe(fact.label)}</dt><dd>{_sized(fact.text())}</dd></div>" for fact in items
    )
    return f'<dl class="facts">{cells}</dl>'


def _folds(block: Block) -> bool:
    return isinstance(block, Table) and (block.folded or len(block.rows) > _OPEN_ROWS)


def _table(table: Table) -> str:
    columns = table.columns
    cells = [[units.cell(row.get(c), missing="–") for c in columns] for row in table.rows]
    kinds = [
        ' class="n"' if table.numeric(column)
        # sentences may break into lines
        else ' class="w"' if any(len(line[place]) > _LONG_TEXT for line in cells)
        else ""
        for place, column in enumerate(columns)
    ]  # fmt: skip
    head = "".join(
        f'<th scope="col"{kind}>{_safe(column)}</th>'
        for column, kind in zip(columns, kinds, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(f'<td{k}>{_safe(c)}</td>' for c, k in zip(line, kinds, strict=True))}</tr>"
        for line in cells
    )
    folds = _folds(table)
    caption = f"<caption>{_safe(table.caption)}</caption>" if table.caption and not folds else ""
    whole = (
        f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    if not folds:
        return whole
    number = f"{len(table.rows):,} {'row' if len(table.rows) == 1 else 'rows'}"
    summary = _safe(table.caption or "Table")
    return f"<details><summary>{summary} ({number})</summary>{whole}</details>"


def _about(facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    rows = "".join(f"<dt>{_safe(k)}</dt><dd>{_safe(v)}</dd>" for k, v in facts.items())
    return f"<footer><h2>About this page</h2><dl>{rows}</dl></footer>\n"


def _anchor(key: str) -> str:
    # figures are called f1, f2, ...; sections must not be
    return "s-" + re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")


def _sized(value: str) -> str:
    return _INTERVAL.sub(_SMALL, _safe(value))


def _prose(text: str) -> str:
    """Escape a sentence and keep its numbers on the line of their units."""
    return _safe(_NUMBER_AND_UNIT.sub("\\1\u00a0", _BARE_PERCENT.sub(r"\1 %", text)))


def _safe(text: object) -> str:
    return html.escape(str(text), quote=True)
