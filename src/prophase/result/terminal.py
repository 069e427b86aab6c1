"""A result as text: the table and what stands below it, else every section."""

from __future__ import annotations

from collections.abc import Iterator

from prophase import units
from prophase.result.blocks import Bullets, Note, Section, Table, Text
from prophase.result.document import Result


def lines(result: Result) -> Iterator[str]:
    """Yield the lines that a terminal shows.

    Examples
    --------
    >>> table = Table("waits", [{"job": "a", "wait_s": 3.0}, {"job": "b", "wait_s": 1200.0}])
    >>> print("\\n".join(lines(Result("waits", tables=[table], notes=["2 jobs."]))))
    job  wait_s
    a         3
    b     1,200
    <BLANKLINE>
    2 jobs.
    """
    shown = [table for table in result.tables if table.rows]
    for place, table in enumerate(shown):
        yield from ([""] if place else [])
        yield from ([table.caption, ""] if table.caption else [])
        yield from table_lines(table)
    if not result.tables:
        for section in result.worded_sections():
            yield from _section(section)
    if result.notes:
        yield from ([""] if shown or result.sections else [])
        yield from result.notes


def table_lines(table: Table) -> Iterator[str]:
    """Yield aligned columns: numbers to the right, text to the left."""
    if not table.rows:
        return
    table = table.for_people()
    columns = table.columns
    cells = [[units.cell(row.get(column)) for column in columns] for row in table.rows]
    right = [table.numeric(column) for column in columns]
    widths = [
        max(len(column), *(len(line[place]) for line in cells))
        for place, column in enumerate(columns)
    ]
    for line in [columns, *cells]:
        aligned = [
            cell.rjust(width) if numbers else cell.ljust(width)
            for cell, width, numbers in zip(line, widths, right, strict=True)
        ]
        yield "  ".join(aligned).rstrip()


def _section(section: Section) -> Iterator[str]:
    inset = "  " if section.title else ""
    if section.title:
        yield f"\n{section.title}"
    for block in section.blocks:
        match block:
            case Text(text):
                yield f"{inset}{text}"
            case Note(text, title=title):
                yield f"{inset}{title} {text}".replace("   ", "  ")
            case Bullets(items):
                yield from (f"{inset}{item}" for item in items)
            case Table(caption=caption):
                yield from [f"\n{inset}{caption}"] if caption else []
                yield from (f"{inset}{line}" for line in table_lines(block))
