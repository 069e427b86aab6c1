"""Sections for a result that has none of its own: its table, its values and its notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from prophase import units
from prophase.result.blocks import Block, Bullets, Fact, Row, Section, Table
from prophase.result.document import Result

_MOST_FACTS = 8
#: rows of a table in a page; JSON and CSV have all
_MOST_ROWS = 1000
#: text longer than this is no fact, and goes into a table
_LONG_TEXT = 40


def value_facts(values: Mapping[str, object] | None) -> list[Fact]:
    """Return the first few single values.

    Examples
    --------
    >>> [fact.text() for fact in value_facts({"jobs": 1200, "rows": [{"job": "a"}]})]
    ['1,200']
    """
    found = [
        Fact(name, _words(name), units.cell(value))
        for name, value in (values or {}).items()
        if isinstance(value, str | int | float) and len(units.cell(value)) <= _LONG_TEXT
    ]
    return found[:_MOST_FACTS]


def value_sections(result: Result) -> Iterator[Section]:
    """Yield the table, every part of the values that is not in it, and the notes."""
    tables = [block for table in result.tables if table.rows for block in _table(table)]
    if tables:
        yield Section("result", "Result", tables)
    known = {fact.key for fact in value_facts(result.values)}
    shown = [
        [dict(row) for row in rows] for rows in (result.rows, *(t.rows for t in result.tables))
    ]
    for name, part in (result.values or {}).items():
        if name not in known and not _is_empty(part) and part not in shown:
            blocks = list(_blocks(name, part, ""))
            if blocks:
                yield Section(name, _words(name), blocks)
    said = [line.strip() for line in result.notes if line.strip()]
    if said:
        yield Section("notes", "Notes", [Bullets(said)])


def _blocks(key: str, part: object, caption: str) -> Iterator[Block]:
    """Yield whatever suits a part: a table, bullets, or its own parts."""
    if isinstance(part, Mapping):
        single = {name: one for name, one in part.items() if not isinstance(one, list | dict)}
        if single:
            rows = [{"measure": name, "value": value} for name, value in single.items()]
            yield Table(key, rows, caption)
        for name, value in part.items():
            if isinstance(value, list | dict) and not _is_empty(value):
                yield from _blocks(
                    f"{key}.{name}", value, f"{caption}, {name}" if caption else str(name)
                )
    elif isinstance(part, list | tuple):
        if all(isinstance(item, Mapping) for item in part):
            yield from _table(Table(key, [_flat(item) for item in part], caption))
        elif all(isinstance(item, str) for item in part):
            yield Bullets(part)
        else:
            rows = [{"place": n, "value": item} for n, item in enumerate(part)]
            yield from _table(Table(key, rows, caption))
    else:
        yield Bullets([units.cell(part)])


def _table(table: Table) -> list[Block]:
    left = len(table.rows) - _MOST_ROWS
    if left <= 0:
        return [table]
    return [
        replace(table, rows=table.rows[:_MOST_ROWS]),
        Bullets([f"{left:,} more rows are not shown; --format json has them."]),
    ]


def _flat(row: Row) -> dict[str, object]:
    """Return a row whose cells are single values; short lists are written out."""
    flat: dict[str, object] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": item for inner, item in _flat(value).items()}
        elif isinstance(value, list | tuple):
            flat[key] = _listed(value)
        else:
            flat[key] = value
    return flat


def _listed(values: Sequence[object]) -> str:
    said = ", ".join(units.cell(item) for item in values[:_MOST_FACTS])
    return said + (" …" if len(values) > _MOST_FACTS else "")


def _is_empty(part: object) -> bool:
    return part is None or (isinstance(part, list | tuple | dict | str) and not part)


def _words(name: str) -> str:
    return str(name).replace("_", " ")
