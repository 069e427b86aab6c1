"""Where table expressions run: DuckDB in this process, or an engine from an extra.

Readers build Ibis expressions and never ask which engine it is. An engine opens
text files as tables of strings, reports which lines it could not split, runs
expressions, and writes them to Parquet.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from threading import Event, Thread
from typing import Protocol

import duckdb
import ibis
import pandas as pd
import pyarrow as pa
from ibis.common.graph import Node

from prophase.errors import (
    FormatError,
    ParameterError,
    StorageError,
    storage_error,
    storage_errors,
)
from prophase.trace.source_files import first_line_not_utf8, not_utf8

#: measured on 5 million wide rows: smallest file and fastest write of the settings tried
PARQUET: dict[str, object] = {
    "compression": "zstd",
    "compression_level": 1,
    "parquet_version": "v2",
    "dictionary_size_limit": 1000,
}

#: where pandas keeps the attributes of a table in its Parquet file
ATTRIBUTES = "PANDAS_ATTRS"
#: what DuckDB may hold while it imports; of the most, hash tables get a little more than half
_LEAST_MIB, _MOST_MIB = 1300, 4400
#: a CSV's size is unknown to the planner, which then builds a hash table of the big side
_NO_SWAP = "SET disabled_optimizers = 'build_side_probe_side'"
#: DuckDB's table of lines that did not split into their columns
_REFUSED = "reject_errors"

#: called now and then with how far a long query is, 0..100
Progress = Callable[[float], object]


#: how much of a file is read to see how its lines end
_LOOK_BYTES = 1 << 16
#: what is read of a large text file for a first look, and in how many pieces
_PART_BYTES, _PIECES = 64 << 20, 64


@dataclass(frozen=True)
class BadLine:
    """A line of a text file that does not split into its columns."""

    path: Path
    line: int
    reason: str


@dataclass(frozen=True)
class TextLayout:
    """How a text file is a table."""

    columns: Sequence[str]
    separator: str = ","
    #: lines above the first row
    skip: int = 0
    quoted: bool = True
    #: what cells hold that are missing
    missing: Sequence[str] = ()


class Engine(Protocol):
    """What an import needs from the place where it runs."""

    name: str

    def open_text(self, path: Path, layout: TextLayout) -> ibis.Table:
        """Return a text file as a table of strings."""
        ...

    def bad_lines(self, path: Path) -> list[BadLine]:
        """Return the lines of ``path`` that were left out, after it has been read."""
        ...

    def open_parquet(self, *paths: Path) -> ibis.Table:
        """Return Parquet files of one layout as a table.

        Folders named ``day=3`` above them are columns.
        """
        ...

    def write_parquet(
        self, table: ibis.Table, path: Path, progress: Progress, attributes: str = ""
    ) -> None:
        """Run the expression and write it as one Parquet file.

        ``attributes`` are the table's own, as pandas keeps them; not every engine does.
        """
        ...

    def first_look(self, table: ibis.Table) -> pa.Table | None:
        """Return what a table is for some rows of its largest text file; None if that is small."""
        ...

    def hashed(self, text: ibis.Value) -> ibis.Value:
        """Return a hash of 64 bits of a text, whatever this engine computes fastest."""
        ...

    def to_pandas(self, table: ibis.Table) -> pd.DataFrame: ...

    def close(self) -> None: ...


def _hash(text: str) -> int:
    """DuckDB's hash as it is: that of Ibis goes by way of a text of bits, four times as slowly."""
    raise NotImplementedError


_hashed: Callable[[ibis.Value], ibis.Value] = ibis.udf.scalar.builtin(
    name="hash", signature=(("string",), "uint64")
)(_hash)


class DuckEngine:
    """DuckDB in this process; what does not fit in memory goes to the scratch folder."""

    name = "duckdb"

    def __init__(self, scratch: Path) -> None:
        self.connection = ibis.duckdb.connect(
            temp_directory=str(scratch / "spill"), memory_limit=f"{_memory_mib()}MiB"
        )
        self._texts: list[Path] = []
        self._scratch = scratch
        self._opened: dict[Node, tuple[Path, TextLayout]] = {}
        # order is restored by the final sort; keeping it here would cost memory
        self.connection.raw_sql("SET preserve_insertion_order = false")
        # we ask how far a query is; DuckDB's own bar would go to stdout, among the results
        self.connection.raw_sql("SET enable_progress_bar = true")
        self.connection.raw_sql("SET enable_progress_bar_print = false")
        self.connection.raw_sql(_NO_SWAP)

    def open_text(self, path: Path, layout: TextLayout) -> ibis.Table:
        self._texts.append(path)
        quote = '"' if layout.quoted else ""
        table = self.connection.read_csv(
            str(path),
            columns=dict.fromkeys(layout.columns, "VARCHAR"),
            auto_detect=False,
            header=False,
            skip=layout.skip,
            delim=layout.separator,
            quote=quote,
            escape=quote,
            nullstr=list(layout.missing),
            store_rejects=True,
            rejects_limit=0,
            strict_mode=not _mixed_line_ends(path),
        )
        self._opened[table.op()] = path, layout
        return table

    def first_look(self, table: ibis.Table) -> pa.Table | None:
        sizes = {
            node: self._opened[node][0].stat().st_size
            for node in table.op().find(lambda one: one in self._opened)
        }
        largest = max(sizes, key=sizes.__getitem__, default=None)
        if largest is None or sizes[largest] < 4 * _PART_BYTES:
            return None
        path, layout = self._opened[largest]
        some = self.open_text(_pieces(path, self._scratch / "first-look.csv"), layout)
        looked: ibis.Table = table.op().replace({largest: some.op()}).to_expr()
        try:
            # here the hash table is one of the few rows
            self.connection.raw_sql("RESET disabled_optimizers")
            return self.connection.to_pyarrow(looked)
        except duckdb.Error:
            # a piece may begin inside a quoted cell; whatever is wrong, the whole file shows it
            return None
        finally:
            self.connection.raw_sql(_NO_SWAP)

    def bad_lines(self, path: Path) -> list[BadLine]:
        # DuckDB makes the table of refused lines when it first reads a text file
        if not self._sql("SELECT 1, '' FROM duckdb_tables() WHERE table_name = ?", [_REFUSED]):
            return []
        rows = self._sql(
            f"SELECT e.line, min(e.error_message) FROM {_REFUSED} e "
            "JOIN reject_scans s USING (scan_id, file_id) WHERE s.file_path IN (?, ?) "
            "GROUP BY 1 ORDER BY 1",
            # a path that was given relative to here is known by its whole name
            [str(path), str(path.absolute())],
        )
        return [BadLine(path, line, _plain_reason(message)) for line, message in rows]

    def open_parquet(self, *paths: Path) -> ibis.Table:
        return self.connection.read_parquet([str(path) for path in paths], union_by_name=True)

    def write_parquet(
        self, table: ibis.Table, path: Path, progress: Progress, attributes: str = ""
    ) -> None:
        kept = {"kv_metadata": {ATTRIBUTES: attributes}} if attributes else {}
        finished = Event()
        watcher = Thread(target=self._watch, args=(finished, progress), daemon=True)
        watcher.start()
        try:
            self.connection.to_parquet(table, path, **PARQUET, **kept)
        except Exception as cause:
            raise self._in_our_words(cause, path) from cause
        finally:
            finished.set()
            watcher.join()

    def hashed(self, text: ibis.Value) -> ibis.Value:
        return _hashed(text)

    def to_pandas(self, table: ibis.Table) -> pd.DataFrame:
        try:
            frame: pd.DataFrame = self.connection.to_pandas(table)
        except Exception as cause:
            raise self._in_our_words(cause, "query") from cause
        return frame

    def close(self) -> None:
        self.connection.disconnect()

    def _sql(self, query: str, values: list[str]) -> list[tuple[int, str]]:
        rows: list[tuple[int, str]] = self.connection.con.execute(query, values).fetchall()
        return rows

    def _in_our_words(self, cause: Exception, where: Path | str) -> BaseException:
        """Turn an error of DuckDB into one of ours; text that is not UTF-8 gives odd ones."""
        found = _in_our_words(cause, where)
        if isinstance(found, FormatError):
            for path in self._texts:
                broken = first_line_not_utf8(path)
                if broken is not None:
                    return not_utf8(Path(path.name), *broken)
        return found

    def _watch(self, finished: Event, progress: Progress) -> None:
        while not finished.wait(0.2):
            progress(max(0.0, self.connection.con.query_progress()))


def _memory_mib() -> int:
    """Return what DuckDB may hold: enough to join tens of millions of rows without much spilling.

    A quarter of the machine, within limits.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return min(max(machine // 4, _LEAST_MIB), _MOST_MIB)


def _pieces(path: Path, target: Path) -> Path:
    """Write whole lines from places spread evenly over a text file, without its first lines."""
    size = path.stat().st_size
    with storage_errors(path), path.open("rb") as file, target.open("wb") as out:
        for place in range(_PIECES):
            file.seek(place * size // _PIECES)
            # the rest of a line, or a header
            file.readline()
            out.write(file.read(_PART_BYTES // _PIECES))
            out.write(file.readline())
    return target


def _mixed_line_ends(path: Path) -> bool:
    """Say whether lines end as on Windows and as on Linux, as when a header was edited."""
    if not path.is_file():
        return False
    with storage_errors(path), path.open("rb") as file:
        begin = file.read(_LOOK_BYTES)
    return not begin.startswith(b"\x1f\x8b") and 0 < begin.count(b"\r\n") < begin.count(b"\n")


def _plain_reason(message: str) -> str:
    """Say why a line was refused: in our words for the usual case, else in DuckDB's."""
    first = message.splitlines()[0]
    counts = re.fullmatch(r"Expected Number of Columns: (\d+) Found: (\d+)", first.strip())
    return f"has {counts[2]} fields where {counts[1]} are expected." if counts else first


def _in_our_words(cause: Exception, where: Path | str) -> BaseException:
    """Turn a DuckDB error into one of ours."""
    said = str(cause)
    if type(cause) is RuntimeError and "interrupted" in said:
        # Ctrl-C while a query runs reaches us as this
        return KeyboardInterrupt()
    if "Could not write" in said and "File too large" in said:
        return storage_error(OSError(errno.EFBIG, "File too large"), where)
    if "No space left" in said or "disk space" in said:
        return StorageError(
            f"{where}: no space left on the device. Free some space, then run the same command."
        )
    if type(cause).__module__.startswith(("_duckdb", "duckdb")):
        return FormatError(
            f"{where}: the file could not be read as a table. {said.splitlines()[0]}"
        )
    return cause


def open_engine(name: str, scratch: Path) -> Engine:
    """Return the engine of that name: ``duckdb``, or one an extra brings.

    An engine that runs elsewhere may be named by its address, such as ``spark://host:7077``.
    """
    if name == "duckdb":
        return DuckEngine(scratch)
    offered = {point.name: point for point in entry_points(group="prophase.engines")}
    kind, _, address = name.partition("://")
    if kind not in offered:
        known = ["duckdb", *offered]
        raise ParameterError.among(
            f"engine {name!r} is unknown.", kind, known, heading="Known engines"
        )
    opened = offered[kind].load()
    engine: Engine = opened(scratch, name) if address else opened(scratch)
    return engine
