"""A result in short: a few lines in a shell, the same lines and a table in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any

from prophase.units import cell

if TYPE_CHECKING:
    import pandas as pd

#: lines that a summary has at most; rows and columns of the table that a notebook shows
MOST_LINES, MOST_ROWS, MOST_COLUMNS = 6, 10, 16


class ShortForm(ABC):
    """What every object that the front door returns can do.

    ``repr`` gives :meth:`summary`, a notebook shows it with the first rows of :attr:`table`,
    and :meth:`to_dict` holds all numbers.
    """

    @abstractmethod
    def summary(self) -> list[str]:
        """Return the result in one to six lines."""

    @property
    @abstractmethod
    def table(self) -> pd.DataFrame:
        """Return the main table of the result."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as JSON holds them."""

    def __repr__(self) -> str:
        return "\n".join(self.summary()[:MOST_LINES])

    def _repr_html_(self) -> str:
        first, *rest = self.summary()[:MOST_LINES]
        table = self.table
        parts = [f"<p><b>{escape(first)}</b>", *(f"<br>{escape(line)}" for line in rest), "</p>"]
        if len(table):
            shown = table.iloc[:MOST_ROWS, :MOST_COLUMNS].map(cell)
            parts.append(shown.to_html(index=False, border=0))
        more = [
            f"{there - most:,} more {what}"
            for there, most, what in zip(
                table.shape, (MOST_ROWS, MOST_COLUMNS), ("rows", "columns"), strict=True
            )
            if there > most
        ]
        if more:
            parts.append(f"<p>{', '.join(more)}: <code>.table</code></p>")
        return "\n".join(parts)
