"""What part of a table a page shows: search, filters, order, page; the address holds all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Annotated, Literal
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from fastapi import Depends, Query, Request
from fastapi.responses import Response

from prophase.json_types import JsonObject
from prophase.serve.problems import Problem
from prophase.trace.describe.trace_clock import FIRST_DATE_S, utc_offset_s

#: columns that people look rows up by; the address has them under these names
FILTERS = ("user", "tenant", "kind", "queue", "status", "verdict", "phase")
_PER_PAGE = 50
_LONGEST, _MOST_PAGES = 300, 100_000
#: a spreadsheet would take these for a formula
_FORMULA = ("=", "+", "-", "@", "\t")


@dataclass(frozen=True)
class TableView:
    """Which rows of a table are shown, and in which order."""

    find: str = ""
    user: str = ""
    tenant: str = ""
    kind: str = ""
    queue: str = ""
    status: str = ""
    verdict: str = ""
    phase: str = ""
    #: of runs, whose own filter knows patterns and groups of states
    scenario: str = ""
    task: str = ""
    state: str = ""
    since: str = ""
    until: str = ""
    sort: str = ""
    down: bool = True
    number: int = 1

    def query(self, **changed: object) -> str:
        """Return the part of an address that shows this again, with some of it changed.

        Examples
        --------
        >>> TableView(user="ann", number=3).query(sort="wait_s", number=1)
        'user=ann&sort=wait_s'
        """
        wanted = replace(self, **changed)  # type: ignore[arg-type]
        usual = TableView()
        pairs = {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in wanted.__dict__.items()
            if value != getattr(usual, name)
        }
        return urlencode(pairs)

    def sorted_by(self, column: str, *, down: bool = True) -> TableView:
        """Return this view; in this order if none is asked for."""
        return self if self.sort else replace(self, sort=column, down=down)

    def chosen(
        self, table: pd.DataFrame, *, clock: str = "", time: str = "submit_s"
    ) -> tuple[pd.DataFrame, dict[str, str]]:
        """Return the rows that are asked for, and what is wrong with a field, by its name.

        ``time`` is the column that a range of dates is about.
        """
        keep = np.ones(len(table), dtype=bool)
        for name in FILTERS:
            if (wanted := getattr(self, name)) and name in table:
                keep &= (table[name].astype("string") == wanted).fillna(False).to_numpy(bool)
        if self.find:
            keep &= _found(table, self.find)
        wrong: dict[str, str] = {}
        for name in ("since", "until"):
            if not getattr(self, name) or time not in table:
                continue
            moment = _moment(getattr(self, name), clock)
            if moment is None:
                wrong[name] = "Give a date such as 2026-05-31, or 2026-05-31 14:00."
                continue
            times = table[time].to_numpy(np.float64, na_value=np.nan)
            keep &= times >= moment if name == "since" else times < moment
        return self._sorted(table[keep]), wrong

    def _sorted(self, table: pd.DataFrame) -> pd.DataFrame:
        if self.sort not in table:
            return table
        return table.sort_values(
            self.sort, ascending=not self.down, na_position="last", kind="stable"
        )

    def part(self, rows: pd.DataFrame) -> tuple[pd.DataFrame, int, int]:
        """Return the rows of the page, its number, and how many pages there are."""
        pages = max(-(-len(rows) // _PER_PAGE), 1)
        number = min(self.number, pages)
        return rows.iloc[(number - 1) * _PER_PAGE : number * _PER_PAGE], number, pages


def table_view(
    request: Request, number: Annotated[int, Query(ge=1, le=_MOST_PAGES)] = 1, down: bool = True
) -> TableView:
    """Read the view from an address."""
    asked = request.query_params
    texts = {one.name: asked.get(one.name, "").strip() for one in fields(TableView)
             if one.name not in ("number", "down")}  # fmt: skip
    if long := next((name for name, text in texts.items() if len(text) > _LONGEST), None):
        raise Problem(422, f"{long} is longer than {_LONGEST} characters. Give less of it.")
    return TableView(**texts, number=number, down=down)


ViewNow = Annotated[TableView, Depends(table_view)]
Format = Annotated[Literal["page", "csv"], Query(alias="format")]


def choices(table: pd.DataFrame, most: int = 200) -> dict[str, list[str]]:
    """Return column -> its commonest values, for the lists of the filters."""
    return {
        name: table[name].dropna().astype(str).value_counts().index[:most].tolist()
        for name in FILTERS
        if name in table and table[name].notna().any()
    }


def as_csv(rows: pd.DataFrame, name: str) -> Response:
    """Return all rows that are asked for, not the page alone, as a CSV file."""
    plain = rows.copy()
    for column in plain.select_dtypes(include=["object", "string"]):
        texts = plain[column].astype("string")
        # a name that begins like a formula stays a text in a spreadsheet
        plain[column] = texts.where(~texts.str.startswith(_FORMULA).fillna(False), "'" + texts)
    return Response(
        plain.to_csv(index=False),
        media_type="text/csv; charset=utf-8",
        headers={"content-disposition": f'attachment; filename="{name}.csv"'},
    )


def shown_part(rows: pd.DataFrame, view: TableView) -> JsonObject:
    """Return a page of rows as every template of a table has it: missing cells are None."""
    part, number, pages = view.part(rows)
    told = part.astype(object)
    listed = told.where(told.notna(), None).to_dict("records")
    return {"rows": listed, "found": len(rows), "view": view, "number": number, "pages": pages}


def rows_table(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return rows as a table, so that every page filters and sorts alike."""
    return pd.DataFrame(list(rows))


def _found(table: pd.DataFrame, words: str) -> np.ndarray:
    keep = np.zeros(len(table), dtype=bool)
    for column in table.select_dtypes(include=["object", "string", "category"]):
        texts = table[column].astype("string")
        held = texts.str.contains(words, case=False, regex=False, na=False)
        keep |= held.to_numpy(bool)
    return keep


def _moment(text: str, clock: str) -> float | None:
    """Return a date as the trace's clock has it; None if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    told = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return told.timestamp() - utc_offset_s(clock)


def has_dates(table: pd.DataFrame, time: str = "submit_s") -> bool:
    """Say whether times of the table are dates, so that a range of dates can be asked for."""
    return time in table and bool(table[time].min() >= FIRST_DATE_S)
