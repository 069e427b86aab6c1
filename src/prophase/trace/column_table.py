"""A table of millions of rows that stays in its file: columns are read as they are asked for.

It offers of a ``DataFrame`` what counting column by column needs. Anything else reads the whole
table and goes on with that, so that a reader never gets another answer, only more memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
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
#: what DuckDB may hold while it counts or looks for rows that repeat
_MEMORY = "1GB"
#: rows that are read at a time
_BATCH = 1 << 18
Marked = NDArray[np.bool_]


@dataclass(frozen=True)
class ColumnExtent:
    """What counting says of one column: how many rows lack it, its least and greatest value."""

    missing: int
    least: Any
    greatest: Any


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
        #: rows by their place, and rows that repeat, which several checks ask for alike
        self._seen: dict[Hashable, Any] = {}

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
            return self._column(key)
        if isinstance(key, list) and all(isinstance(name, str) for name in key):
            return self._frame(key)
        marked = np.asarray(key, np.bool_)
        if self._kept is not None:
            whole = np.zeros(len(self._kept), np.bool_)
            whole[np.flatnonzero(self._kept)[marked]] = True
            marked = whole
        return ColumnTable(self._path, self._names, self.attrs, marked)

    @cached_property
    def extents(self) -> dict[str, ColumnExtent]:
        """What is counted of every column, in one pass over the file."""
        types, asked = self.dtypes, []
        for place, name in enumerate(self._names):
            number = types[name].kind == "f"
            cell = _known(f'"{name}"', number=number)
            asked += [f"count({cell}) as n{place}", f"min({cell}) as a{place}"]
            asked.append(f"max({cell}) as z{place}")
        with self._engine() as engine:
            (found,) = engine.execute(
                f"select {', '.join(asked)} from read_parquet(?)", [str(self._path)]
            ).fetchall()
        rows = pq.read_metadata(self._path).num_rows
        return {
            name: ColumnExtent(rows - found[3 * place], *found[3 * place + 1 : 3 * place + 3])
            for place, name in enumerate(self._names)
        }

    def missing(self, name: str) -> int:
        """Return how many rows lack a value in a column."""
        if self._kept is None:
            return self.extents[name].missing
        return int(self._column(name).isna().sum())

    def distinct(self, name: str) -> int:
        """Return how many different values a column has."""
        if self._kept is not None:
            return int(self._column(name).nunique())
        cell = _known(f'"{name}"', number=self.dtypes[name].kind == "f")
        with self._engine() as engine:
            counted = f"select count(*) from (select distinct {cell} as c from read_parquet(?))"
            (found,) = engine.execute(
                f"{counted} where c is not null", [str(self._path)]
            ).fetchall()
        return int(found[0])

    def get(self, name: str, default: Any = None) -> Any:
        """Return a column, or the default if there is none of this name."""
        return self[name] if name in self._names else default

    def duplicated(self, subset: Sequence[str], keep: str | bool = "first") -> pd.Series:
        """Mark rows that repeat another one in some columns: later ones, or all (keep=False)."""
        if self._kept is not None:
            return pd.Series(self._frame(subset).duplicated(keep=keep))  # type: ignore[arg-type]
        types = self.dtypes
        keys = [_known(f'"{name}"', number=types[name].kind == "f") for name in subset]
        return self._repeats(keys, every=keep is False)

    def duplicated_text(self, name: str, pattern: str) -> pd.Series:
        """Mark rows whose text in a column is, without what a pattern matches, that of one before.

        Rows without a text are not marked.
        """
        if self._kept is not None:
            own = self[name]
            repeats = own.astype("string").str.replace(pattern, "", regex=True).duplicated()
            return pd.Series(repeats & own.notna())
        text = pattern.replace("'", "''")
        key = f"regexp_replace(\"{name}\", '{text}', '', 'g')"
        return self._repeats([key], every=False, where=f'where "{name}" is not null')

    def sorted_once(self, name: str, whose: str) -> NDArray[np.float64]:
        """Return the finite numbers of a column in order, equal ones of the same text once.

        Numbers of rows without that text all count.
        """
        rows = f'select "{name}" as v, "{whose}" as w from read_parquet($path) where isfinite(v)'
        with self._engine() as engine:
            found = engine.execute(
                f"""with held as not materialized ({rows}) select v from (select distinct v, w
                from held where w is not null union all select v, w from held where w is null)""",
                {"path": str(self._path)},
            ).fetchnumpy()
        values = np.array(found["v"], np.float64)
        values.sort()
        return values

    def parted(self, name: str, pattern: str, count: int) -> NDArray[np.uint16]:
        """Return a part from 0 to ``count`` - 1 for every row; equal texts share theirs.

        Texts that differ only in what the pattern matches count as equal.
        """
        text = pattern.replace("'", "''")
        key = f"regexp_replace(\"{name}\", '{text}', '', 'g')" if pattern else f'"{name}"'
        with self._engine() as engine:
            # the order of rows counts
            engine.execute("set preserve_insertion_order = true")
            found = engine.execute(
                f"select (hash({key}) % {count})::usmallint as part from read_parquet(?)",
                [str(self._path)],
            ).fetchnumpy()
        return np.asarray(found["part"], np.uint16)

    def _repeats(self, keys: Sequence[str], *, every: bool, where: str = "") -> pd.Series:
        """Find rows that agree in all keys; DuckDB counts, and puts on disk what is too much.

        Hashes are counted first: few rows share one, and of those alone the keys are compared.
        """
        asked = (*keys, every, where)
        if asked not in self._seen:
            names = ", ".join(f"k{place}" for place in range(len(keys)))
            keyed = ", ".join(f"{key} as k{place}" for place, key in enumerate(keys))
            same = " and ".join(
                f"alike.k{place} is not distinct from twice.k{place}" for place in range(len(keys))
            )
            with self._engine() as engine:
                rows = engine.execute(
                    f"""with keyed as not materialized (select file_row_number as place, {keyed}
                    from read_parquet(?, file_row_number = true) {where}),
                    often as materialized (select hash({names}) as h from keyed
                    group by h having count(*) > 1),
                    alike as materialized (select * from keyed
                    where hash({names}) in (select h from often)),
                    twice as (select {names}, min(place) as earliest from alike group by {names}
                    having count(*) > 1)
                    select place, place > earliest as later from alike join twice on {same}""",
                    [str(self._path)],
                ).fetchnumpy()
            marked = np.zeros(pq.read_metadata(self._path).num_rows, np.bool_)
            places = np.asarray(rows["place"], np.int64)
            marked[places if every else places[np.asarray(rows["later"], np.bool_)]] = True
            self._seen[asked] = marked
        return pd.Series(self._seen[asked])

    @contextmanager
    def _engine(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open DuckDB with little memory and a folder for what is too much."""
        with TemporaryDirectory(prefix="prophase-") as scratch, duckdb.connect() as engine:
            engine.execute(f"set memory_limit = '{_MEMORY}'; set temp_directory = '{scratch}'")
            engine.execute("set preserve_insertion_order = false")
            yield engine

    @property
    def iloc(self) -> _Rows:
        """Rows by their place: a slice, or an array of places."""
        return _Rows(self._placed)

    @property
    def loc(self) -> _Rows:
        """Marked rows, and some columns or one."""
        return _Rows(self._located)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.read_whole += 1
        return getattr(self._frame(self._names), name)

    def _placed(self, key: Any) -> pd.DataFrame:
        if not isinstance(key, slice):
            return self._rows_at(self._places(key), self._names)
        asked = ("rows", key.start, key.stop, key.step)
        if asked not in self._seen:
            self._seen[asked] = self._rows_at(self._places(key), self._names)
        rows: pd.DataFrame = self._seen[asked]
        return rows.copy(deep=False)

    def _located(self, key: tuple[Any, Any]) -> Any:
        marked, names = np.asarray(key[0]), key[1]
        if marked.dtype != np.bool_:
            raise TypeError("loc takes marked rows")
        if isinstance(names, str):
            return self[marked][names]
        return self._rows_at(np.flatnonzero(marked), list(names))

    def _column(self, name: str) -> pd.Series:
        """Read one column, part by part; texts as categories, in the order they appear."""
        kind = pq.read_schema(self._path).field(name).type
        if kind == pa.float64():
            return pd.Series(self._floats(name), name=name)
        if kind not in (pa.string(), pa.large_string()):
            return self._frame([name])[name]
        parts = [part.dictionary_encode() for part in self._parts(name)]
        nothing = pa.array([], kind).dictionary_encode()
        column = pa.chunked_array(parts or [nothing]).unify_dictionaries()
        codes, first = np.empty(self._rows, np.int32), 0
        for chunk in column.chunks:
            codes[first : first + len(chunk)] = chunk.indices.fill_null(-1)
            first += len(chunk)
        categories = pd.Index(column.chunk(0).dictionary.to_pandas())
        return pd.Series(pd.Categorical.from_codes(codes, categories), name=name)

    def number_per_text(self, name: str, number_of: Callable[[str], float]) -> NDArray[np.float64]:
        """Return a number per row that is made of its text; NaN where there is none."""
        numbers, first = np.empty(self._rows), 0
        for part in self._parts(name):
            told = part.dictionary_encode()
            made = np.array([*map(number_of, told.dictionary.to_pylist()), np.nan])
            numbers[first : first + len(part)] = made[told.indices.fill_null(-1).to_numpy()]
            first += len(part)
        return numbers

    def _floats(self, name: str) -> NDArray[np.float64]:
        values, first = np.empty(self._rows), 0
        for part in self._parts(name):
            values[first : first + len(part)] = part.to_numpy(zero_copy_only=False)
            first += len(part)
        return values

    def _parts(self, name: str) -> Iterator[pa.Array]:
        """Yield a column part by part, with the rows that count alone."""
        seen = 0
        for batch in pq.ParquetFile(self._path).iter_batches(_BATCH, columns=[name]):
            part = batch.column(0)
            if self._kept is not None:
                part = part.filter(pa.array(self._kept[seen : seen + len(batch)]))
            seen += len(batch)
            yield part

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


def distinct_in(table: pd.DataFrame, name: str) -> int:
    """Return how many different values a column has; of a table in its file by counting there."""
    large = in_file(table)
    return int(table[name].nunique()) if large is None else large.distinct(name)


def missing_in(table: pd.DataFrame, name: str) -> int:
    """Return how many rows lack a value in a column; of a table in its file by counting there."""
    large = in_file(table)
    return int(table[name].isna().sum()) if large is None else large.missing(name)


def in_file(table: object) -> ColumnTable | None:
    """Return a table that stays in its file as such; None if it is in memory."""
    return table if isinstance(table, ColumnTable) else None


def _known(column: str, *, number: bool = True) -> str:
    """Return SQL for a column in which not a number is missing, as pandas has it."""
    return f"case when isnan({column}) then null else {column} end" if number else column


class _Rows:
    """What stands in brackets behind ``iloc`` and ``loc``."""

    def __init__(self, read: Callable[[Any], pd.DataFrame]) -> None:
        self._read = read

    def __getitem__(self, key: Any) -> pd.DataFrame:
        return self._read(key)
