"""What part of a table a page shows: search, filters, order, page; the address holds all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from fastapi import Depends, Query
from fastapi.responses import Response

from prophase.trace.describe.trace_clock import FIRST_DATE_S, utc_offset_s

#: columns that people look jobs up by; the address has them under these names
FILTERS = ("user", "tenant", "kind", "queue", "status")
_PER_PAGE = 50
_Text = Annotated[str, Query(max_length=300)]
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

    def chosen(
        self, table: pd.DataFrame, *, clock: str = ""
    ) -> tuple[pd.DataFrame, dict[str, str]]:
        """Return the rows that are asked for, and what is wrong with a field, by its name."""
        keep = np.ones(len(table), dtype=bool)
        for name in FILTERS:
            if (wanted := getattr(self, name)) and name in table:
                keep &= (table[name].astype("string") == wanted).fillna(False).to_numpy(bool)
        if self.find:
            keep &= _found(table, self.find)
        wrong: dict[str, str] = {}
        for name in ("since", "until"):
            if not getattr(self, name) or "submit_s" not in table:
                continue
            moment = _moment(getattr(self, name), clock)
            if moment is None:
                wrong[name] = "Give a date such as 2026-05-31, or 2026-05-31 14:00."
                continue
            times = table["submit_s"].to_numpy(np.float64, na_value=np.nan)
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
    find: _Text = "",
    user: _Text = "",
    tenant: _Text = "",
    kind: _Text = "",
    queue: _Text = "",
    status: _Text = "",
    since: _Text = "",
    until: _Text = "",
    sort: _Text = "",
    down: bool = True,
    number: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> TableView:
    """Read the view from an address."""
    return TableView(
        find.strip(), user.strip(), tenant.strip(), kind.strip(), queue.strip(), status.strip(),
        since.strip(), until.strip(), sort, down, number,
    )  # fmt: skip


ViewNow = Annotated[TableView, Depends(table_view)]


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


def has_dates(table: pd.DataFrame) -> bool:
    """Say whether times of the table are dates, so that a range of dates can be asked for."""
    return "submit_s" in table and bool(table["submit_s"].min() >= FIRST_DATE_S)
