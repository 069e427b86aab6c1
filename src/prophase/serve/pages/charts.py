"""Charts of the pages: what to draw, and the same as a table for those who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from prophase.json_types import JsonMapping
from prophase.serve.pages.number_text import amount
from prophase.trace.describe.trace_clock import moment_words

Kind = Literal["bars", "boxes", "columns", "dots", "heat", "lines", "parts", "ranges"]
#: rows of the table beside a chart of many points
_MOST_ROWS = 60


@dataclass(frozen=True)
class PageChart:
    """One chart.

    Parameters
    ----------
    kind : str
        Which of ``static/charts`` draws it; the file says what ``data`` holds.
    title, says : str
        The heading, and what is to be seen, in a sentence.
    rows : sequence of mapping
        The same as a table.
    """

    kind: Kind
    title: str
    says: str
    data: JsonMapping
    rows: Sequence[JsonMapping] = field(default_factory=list)


def bars(title: str, says: str, rows: Sequence[JsonMapping], unit: str, **more: Any) -> PageChart:
    """Return lying bars; a row has ``name``, ``value``, and ``low`` and ``high`` if known."""
    table = [
        {
            "": row["name"],
            "value": amount(row["value"], unit),
            **(
                {"from": amount(row["low"], unit), "to": amount(row.get("high"), unit)}
                if row.get("low") is not None
                else {}
            ),
        }
        for row in rows
    ]
    even = all(set(row) == set(table[0]) for row in table)
    plain = table if even else [{"": row[""], "value": row["value"]} for row in table]
    return PageChart("bars", title, says, {"unit": unit, "rows": list(rows), **more}, plain)


def boxes(title: str, says: str, rows: Sequence[JsonMapping], unit: str) -> PageChart:
    """Return boxes; a row has ``name`` and the quantiles ``q05`` to ``q95``."""
    spread = [one[q] for one in rows for q in ("q05", "q95") if one[q] and one[q] > 0]
    log = bool(spread) and max(spread) > 30 * min(spread)
    keys = {"q05": "5 %", "q25": "25 %", "q50": "median", "q75": "75 %", "q95": "95 %"}
    table = [
        {"": row["name"], **{word: amount(row[q], unit) for q, word in keys.items()}}
        for row in rows
    ]
    return PageChart("boxes", title, says, {"unit": unit, "log": log, "rows": list(rows)}, table)


def lines(
    title: str,
    says: str,
    x: Sequence[float],
    series: Sequence[JsonMapping],
    *,
    unit: str,
    clock: str | None = None,
    **more: Any,
) -> PageChart:
    """Return lines over a clock; a series has ``name`` and ``y``."""
    every = max(len(x) // _MOST_ROWS, 1)
    table = [
        {
            "time": moment_words(x[place], "unix") if clock == "date" else amount(x[place], "s"),
            **{one["name"]: amount(one["y"][place], unit) for one in series},
        }
        for place in range(0, len(x), every)
    ]
    data = {"x": list(x), "series": list(series), "unit": unit, "clock": clock, **more}
    return PageChart("lines", title, says, data, table)


def heat(
    title: str,
    says: str,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    shares: Sequence[Sequence[float | None]],
    words: Sequence[Sequence[str]],
    two_sided: bool = False,
) -> PageChart:
    """Return a heat map; ``shares`` from 0 (or -1) to 1 colour the cells, ``words`` fill them."""
    table = [
        {"": name, **dict(zip(columns, told, strict=True))}
        for name, told in zip(rows, words, strict=True)
    ]
    data = {
        "rows": list(rows), "columns": list(columns), "shares": shares, "words": words,
        "two_sided": two_sided,
    }  # fmt: skip
    return PageChart("heat", title, says, data, table)
