"""The page of any result: its rows, everything else it holds, and what was remarked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prophase import units
from prophase.plots.page import Block, Bullets, Facts, Page, Section, Table
from prophase.plots.report.page import with_intervals
from prophase.version import __version__

_MOST_FACTS = 8
#: rows of a table in the page; JSON and CSV have all
_MOST_ROWS = 1000
#: text longer than this is no fact, and goes into a table
_LONG_TEXT = 40


def result_page(
    rows: Sequence[Mapping[str, Any]],
    *,
    title: str,
    question: str = "",
    document: Mapping[str, Any] | None = None,
    remarks: Sequence[str] = (),
    command: str = "",
) -> Page:
    """Return a page that shows a result of any command.

    Parameters
    ----------
    rows : sequence of mappings
        The result's table.
    title, question : str
        What it is called, and what it answers.
    document : mapping, optional
        The whole result; its parts that are not in ``rows`` become sections.
    remarks : sequence of str
        What was said beside it.
    command : str
        What made it.

    Examples
    --------
    >>> from prophase.plots.page import render
    >>> page = result_page([{"job": "a", "wait_s": 3.0}], title="Waits", document={"jobs": 1})
    >>> "wait_s" in render(page)
    True
    """
    whole = document or {}
    facts = _facts(whole)
    sections = [Section("Result", _table(rows))] if rows else []
    shown = [list(map(dict, rows))]
    for name, part in whole.items():
        if name not in facts and not _is_empty(part) and part not in shown:
            blocks = list(_blocks(part, ""))
            if blocks:
                sections.append(Section(_words(name), blocks))
    said = [line.strip() for line in remarks if line.strip()]
    if said:
        sections.append(Section("Remarks", [Bullets(said)]))
    about = {"version": f"prophase {__version__}"}
    if command:
        about["command"] = command
    lead: list[Block] = [Facts([(_words(k), v) for k, v in facts.items()])] if facts else []
    return Page(title=title, subtitle=question, lead=lead, sections=sections, about=about)


def _facts(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the first few single values of a document as text."""
    single = {
        name: units.cell(value)
        for name, value in document.items()
        if isinstance(value, str | int | float) and len(units.cell(value)) <= _LONG_TEXT
    }
    return dict(list(single.items())[:_MOST_FACTS])


def _blocks(part: Any, caption: str) -> Iterator[Block]:
    """Yield whatever suits a part: a table, bullets, or its own parts."""
    if isinstance(part, Mapping):
        single = {key: value for key, value in part.items() if not isinstance(value, list | dict)}
        if single:
            yield Table(
                [{"measure": key, "value": value} for key, value in single.items()], caption
            )
        for key, value in part.items():
            if isinstance(value, list | dict) and not _is_empty(value):
                yield from _blocks(value, f"{caption}, {key}" if caption else str(key))
    elif isinstance(part, list | tuple):
        if all(isinstance(item, Mapping) for item in part):
            yield from _table([_flat(item) for item in part], caption)
        elif all(isinstance(item, str) for item in part):
            yield Bullets(part)
        else:
            yield from _table([{"place": n, "value": item} for n, item in enumerate(part)], caption)
    else:
        yield Bullets([units.cell(part)])


def _table(rows: Sequence[Mapping[str, Any]], caption: str = "") -> list[Block]:
    if len(rows) <= _MOST_ROWS:
        return [Table(with_intervals(rows), caption)]
    left = f"{len(rows) - _MOST_ROWS:,} more rows are not shown; --format json has them."
    return [Table(with_intervals(rows[:_MOST_ROWS]), caption), Bullets([left])]


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose cells are single values; short lists are written out."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{inner}": item for inner, item in _flat(value).items()}
        elif isinstance(value, list | tuple):
            flat[key] = ", ".join(units.cell(item) for item in value[:_MOST_FACTS])
            flat[key] += " …" if len(value) > _MOST_FACTS else ""
        else:
            flat[key] = value
    return flat


def _is_empty(part: Any) -> bool:
    return part is None or (isinstance(part, list | dict | str) and not part)


def _words(name: str) -> str:
    return str(name).replace("_", " ")
