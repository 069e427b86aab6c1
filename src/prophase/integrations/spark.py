"""Run readers on Spark: for dumps beyond one machine. Same expressions, same results."""

from __future__ import annotations

import os
import shutil
import socket
from itertools import count, islice
from pathlib import Path
from typing import Any

import ibis
import pandas as pd

from prophase.errors import (
    FormatError,
    MissingExtraError,
    ParameterError,
    ProphaseError,
    StorageError,
)
from prophase.trace.engine import BadLine, Progress, TextLayout

_BROKEN = "_broken_line"
_VIEW_NUMBERS = count()
_CONNECT_S = 15


class SparkEngine:
    """A Spark session: the one of this process, that of a master, or a local one on all cores.

    A master's workers read and write the same paths as this process: traces and workspaces lie
    on storage that all of them see.
    """

    name = "spark"

    def __init__(self, scratch: Path, master: str | None = None) -> None:
        self.scratch = scratch
        self.session = _session(master)
        self.connection = ibis.pyspark.connect(self.session)
        self._broken: dict[Path, Any] = {}

    def open_text(self, path: Path, layout: TextLayout) -> ibis.Table:
        from pyspark.sql import functions as f

        skip, quote = layout.skip, '"' if layout.quoted else ""
        if skip > 1:
            path, skip = self._without_first_lines(path, skip), 0
        fields = ", ".join(f"`{name}` STRING" for name in [*layout.columns, _BROKEN])
        rows = self.session.read.csv(
            str(path),
            schema=fields,
            sep=layout.separator,
            header=skip == 1,
            quote=quote,
            escape=quote,
            mode="PERMISSIVE",
            columnNameOfCorruptRecord=_BROKEN,
        )
        self._broken[path] = rows.filter(f.col(f"`{_BROKEN}`").isNotNull())
        whole = rows.filter(f.col(f"`{_BROKEN}`").isNull())
        view = f"prophase_text_{next(_VIEW_NUMBERS)}"
        cells = {name: f.col(f"`{name}`") for name in layout.columns}
        missing = list(layout.missing)
        whole.select(
            *(f.when(c.isin(missing), None).otherwise(c).alias(name) for name, c in cells.items())
        ).createOrReplaceTempView(view)
        return self.connection.table(view)

    def bad_lines(self, path: Path) -> list[BadLine]:
        if path not in self._broken:
            return []
        broken = {row[_BROKEN] for row in self._broken[path].collect()}
        if not broken:
            return []
        with path.open(encoding="utf-8", errors="replace") as lines:
            numbered = enumerate((line.rstrip("\r\n") for line in lines), 1)
            return [
                BadLine(path, number, "Wrong number of fields")
                for number, line in numbered
                if line in broken
            ]

    def open_parquet(self, *paths: Path) -> ibis.Table:
        view = f"prophase_parquet_{next(_VIEW_NUMBERS)}"
        # folders such as day=3 are columns if they lie below what Spark takes as the table
        above = [str(one) for one in paths[0].parents if "=" not in one.name]
        source = self.session.read.option("basePath", above[0]).option("mergeSchema", True)
        source.parquet(*map(str, paths)).createOrReplaceTempView(view)
        return self.connection.table(view)

    def first_look(self, table: ibis.Table) -> None:
        """Return nothing: reading some rows of a text file is not cheap here."""

    def write_parquet(
        self, table: ibis.Table, path: Path, progress: Progress, attributes: str = ""
    ) -> None:
        progress(0.0)
        folder = path.with_name(path.name + ".spark")
        try:
            rows = self.session.sql(str(self.connection.compile(table)))
            rows.coalesce(1).write.mode("overwrite").parquet(str(folder), compression="zstd")
            (part,) = folder.glob("part-*.parquet")
            part.replace(path)
        except Exception as cause:
            raise _in_our_words(cause, path) from cause
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def hashed(self, text: ibis.Value) -> ibis.Value:
        return text.hash()

    def to_pandas(self, table: ibis.Table) -> pd.DataFrame:
        try:
            frame: pd.DataFrame = self.connection.to_pandas(table)
        except Exception as cause:
            raise _in_our_words(cause, "query") from cause
        return frame

    def close(self) -> None:
        """Leave the session open: it is slow to start, and may belong to the caller."""
        self._broken.clear()

    def _without_first_lines(self, path: Path, skip: int) -> Path:
        copy = self.scratch / f"{path.name}.body"
        with path.open("rb") as lines, copy.open("wb") as out:
            out.writelines(islice(lines, skip, None))
        return copy


def _session(master: str | None) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError as cause:
        raise MissingExtraError("The Spark engine", "spark") from cause
    builder = (
        SparkSession.builder.appName("prophase")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "8")
        # a broken line must be seen even when its bad cell is not asked for
        .config("spark.sql.csv.parser.columnPruning.enabled", "false")
    )
    if master is None:
        # without this, Spark asks the host name's address, which a laptop may not reach
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.driver.host", "127.0.0.1")
    else:
        _refuse_silence(master)
        builder = builder.master(master)
    try:
        session = builder.getOrCreate()
    except Exception as cause:
        raise StorageError(
            f"Spark did not start ({str(cause).splitlines()[0]}). It needs Java 17: "
            "install it and set JAVA_HOME."
        ) from cause
    session.sparkContext.setLogLevel("ERROR")
    return session


def _refuse_silence(master: str) -> None:
    """Refuse an address that nobody answers at: Spark itself would try for a minute."""
    host, _, port = master.removeprefix("spark://").rpartition(":")
    if not host or not port.isdigit():
        raise ParameterError(
            f"engine {master!r} is not understood. Give the address of a Spark master such as "
            "spark://10.0.0.1:7077."
        )
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_S).close()
    except OSError as cause:
        raise ProphaseError(
            f"no Spark master answers at {master} ({cause}). Start one, or write engine = "
            '"spark" to run Spark on this machine.'
        ) from cause


def _in_our_words(cause: Exception, where: Path | str) -> Exception:
    said = str(cause)
    if "No space left" in said:
        return StorageError(
            f"{where}: no space left on the device. Free some space, then run the same command."
        )
    return FormatError(f"{where}: Spark could not run the query. {said.splitlines()[0]}")
