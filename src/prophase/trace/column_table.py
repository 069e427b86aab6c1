"""A table of millions of rows that stays in its file: columns are read as they are asked for.

It offers of a ``DataFrame`` what counting column by column needs. Anything else reads the whole
table and goes on with that, so that a reader never gets another answer, only more memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

#: tables with more rows stay in their files where a command counts column by column
LARGE = 1_000_000
#: what DuckDB may hold while it looks for rows that repeat
_MEMORY = "1GB"
Marked = NDArray[np.bool_]


class ColumnTable:
    """A Parquet file seen as a table; ``kept`` marks the rows that count, all if it is None."""

    def __init__(
        self,
        path: Path,
        columns: Sequence[str],
        attrs: dict[Hashable, Any] | None = None,
        kept: Marked | None = None,
    ) -> None:
        self._path, self._names, self._kept = path, list(columns), kept
        self.attrs: dict[Hashable, Any] = attrs or {}
        self._rows = pq.read_metadata(path).num_rows if kept is None else int(kept.sum())
        #: how often everything had to be read at once
        self.read_whole = 0

    def __len__(self) -> int:
        return self._rows

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    @property
    def empty(self) -> bool:
        return self._rows == 0

    @property
    def columns(self) -> pd.Index:
        return pd.Index(self._names)

    @property
    def dtypes(self) -> pd.Series:
        """The type of each column, from the file's own description."""
        empty = pq.read_schema(self._path).empty_table().select(self._names)
        types: pd.Series = empty.to_pandas().dtypes
        return types

    def __getitem__(self, key: Any) -> Any:
        """Return a column, some columns, or the table with the rows that are marked alone."""
        if isinstance(key, str):
            if key not in self._names:
                raise KeyError(key)
            return self._frame([key])[key]
        if isinstance(key, list) and all(isinstance(name, str) for name in key):
            return self._frame(key)
        marked = np.asarray(key, np.bool_)
        if self._kept is not None:
            whole = np.zeros(len(self._kept), np.bool_)
            whole[np.flatnonzero(self._kept)[marked]] = True
            marked = whole
        return ColumnTable(self._path, self._names, self.attrs, marked)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a column, or the default if there is none of this name."""
        return self[name] if name in self._names else default

    def duplicated(self, subset: Sequence[str], keep: str | bool = "first") -> pd.Series:
        """Mark rows that repeat another one in some columns: later ones, or all (keep=False)."""
        if self._kept is not None:
            return pd.Series(self._frame(subset).duplicated(keep=keep))  # type: ignore[arg-type]
        return self._repeats([_known(f'"{name}"') for name in subset], every=keep is False)

    def duplicated_text(self, name: str, pattern: str) -> pd.Series:
        """Mark rows whose text in a column is, without what a pattern matches, that of one before.

        Rows without a text are not marked.
        """
        if self._kept is not None:
            own = self[name]
            repeats = own.astype("string").str.replace(pattern, "", regex=True).duplicated()
            return pd.Series(repeats & own.notna())
        text = pattern.replace("'", "''")
        found = self._repeats([f"regexp_replace(\"{name}\", '{text}', '', 'g')"], every=False)
        marked: pd.Series = found & self[name].notna()
        return marked

    def parted(self, name: str, pattern: str, count: int) -> NDArray[np.uint16]:
        """Return a part from 0 to ``count`` - 1 for every row; equal texts share theirs.

        Texts that differ only in what the pattern matches count as equal.
        """
        text = pattern.replace("'", "''")
        key = f"regexp_replace(\"{name}\", '{text}', '', 'g')" if pattern else f'"{name}"'
        with duckdb.connect() as engine:
            found = engine.execute(
                f"select (hash({key}) % {count})::usmallint as part from read_parquet(?)",
                [str(self._path)],
            ).fetchnumpy()
        return np.asarray(found["part"], np.uint16)

    def _repeats(self, keys: Sequence[str], *, every: bool) -> pd.Series:
        """Find rows that agree in all keys; DuckDB counts, and puts on disk what is too much."""
        names = ", ".join(f"k{place}" for place in range(len(keys)))
        keyed = ", ".join(f"{key} as k{place}" for place, key in enumerate(keys))
        same = " and ".join(
            f"keyed.k{place} is not distinct from twice.k{place}" for place in range(len(keys))
        )
        marked = np.zeros(pq.read_metadata(self._path).num_rows, np.bool_)
        with TemporaryDirectory(prefix="prophase-") as scratch, duckdb.connect() as engine:
            engine.execute(f"set memory_limit = '{_MEMORY}'")
            engine.execute(f"set temp_directory = '{scratch}'")
            rows = engine.execute(
                f"""with keyed as (select file_row_number as place, {keyed}
                from read_parquet(?, file_row_number = true)),
                twice as (select {names}, min(place) as earliest from keyed group by {names}
                having count(*) > 1)
                select place, place > earliest as later from keyed join twice on {same}""",
                [str(self._path)],
            ).fetchnumpy()
        places = np.asarray(rows["place"], np.int64)
        marked[places if every else places[np.asarray(rows["later"], np.bool_)]] = True
        return pd.Series(marked)

    @property
    def iloc(self) -> _Rows:
        """Rows by their place: a slice, or an array of places."""
        return _Rows(lambda key: self._rows_at(self._places(key), self._names))

    @property
    def loc(self) -> _Rows:
        """Marked rows, and some columns or one."""
        return _Rows(self._located)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.read_whole += 1
        return getattr(self._frame(self._names), name)

    def _located(self, key: tuple[Any, Any]) -> Any:
        marked, names = np.asarray(key[0]), key[1]
        if marked.dtype != np.bool_:
            raise TypeError("loc takes marked rows")
        if isinstance(names, str):
            return self[marked][names]
        return self._rows_at(np.flatnonzero(marked), list(names))

    def _frame(self, names: Sequence[str]) -> pd.DataFrame:
        table = pq.read_table(self._path, columns=list(names), memory_map=True)
        if self._kept is not None:
            table = table.filter(pa.array(self._kept))
        frame: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
        return frame

    def _places(self, key: Any) -> NDArray[np.int64]:
        if isinstance(key, slice):
            return np.arange(*key.indices(self._rows))
        places = np.atleast_1d(np.asarray(key, np.int64))
        return np.where(places < 0, places + self._rows, places)

    def _rows_at(self, places: NDArray[np.int64], names: Sequence[str]) -> pd.DataFrame:
        """Read rows, one part of the file after the other."""
        if self._kept is not None:
            places = np.flatnonzero(self._kept)[places]
        order = np.argsort(places, kind="stable")
        file, first, parts = pq.ParquetFile(self._path), 0, []
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            low, high = np.searchsorted(places[order], [first, first + rows])
            if high > low:
                part = file.read_row_group(group, columns=list(names))
                parts.append(part.take(pa.array(places[order][low:high] - first)))
            first += rows
        empty = pq.read_schema(self._path).empty_table().select(list(names))
        found: pd.DataFrame = pa.concat_tables(parts or [empty]).to_pandas()
        return found.iloc[np.argsort(order, kind="stable")].set_axis(places)


def in_file(table: object) -> ColumnTable | None:
    """Return a table that stays in its file as such; None if it is in memory."""
    return table if isinstance(table, ColumnTable) else None


def _known(column: str) -> str:
    """Return SQL for a column in which not a number is missing, as pandas has it."""
    return f"case when {column}::varchar = 'nan' then null else {column} end"


class _Rows:
    """What stands in brackets behind ``iloc`` and ``loc``."""

    def __init__(self, read: Callable[[Any], pd.DataFrame]) -> None:
        self._read = read

    def __getitem__(self, key: Any) -> pd.DataFrame:
        return self._read(key)
