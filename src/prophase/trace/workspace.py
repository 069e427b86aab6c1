"""A workspace: one folder with the tables, models and reports of a study.

    prophase.toml    settings of the user
    tables.json      which Parquet file holds which table, and where it came from
    tables/          Parquet files, named by table and content
    models/ reports/ what later steps write
    .cache/          parts of unfinished imports

``tables.json`` is replaced in one step after all new files are in place, so a
reader sees the old tables or the new ones, never half of each.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self, cast

import pandas as pd

from prophase.atomic_files import held_by_one
from prophase.errors import WorkspaceError, not_among, storage_error, storage_errors
from prophase.json_types import JsonObject
from prophase.plural import as_typed, counted
from prophase.trace.identity.job_identity import (
    file_rule,
    identified,
    rule_of,
    with_identity,
    with_rule,
)
from prophase.trace.schema import IDENTITY
from prophase.trace.source_files import file_hash
from prophase.version import __version__

#: what to do with a table that the workspace already has
Mode = Literal["new", "replace", "append"]

SETTINGS = "prophase.toml"
INDEX = "tables.json"
#: the last bytes of every Parquet file
_PARQUET_END = b"PAR1"

_DEFAULT_SETTINGS = """\
# Settings of this Prophase workspace.
engine = "duckdb"   # or "spark", with: pip install "prophase[spark]"
seed = 0            # of synthetic traces that are made here
"""


@dataclass(frozen=True)
class TableEntry:
    """One table of a workspace and how it came to be."""

    name: str
    file: str
    rows: int
    columns: tuple[str, ...]
    table_hash: str
    source: str
    #: of the dump's bytes, the reader and all that decides which rows are here
    source_hash: str
    command: str
    made_at: str
    clock: str = "relative"
    seed: int | None = None
    version: str = __version__
    #: of the dump alone, whatever was kept of it; tables that were not imported have none
    dump_hash: str = ""
    report: JsonObject = field(default_factory=dict)


class Workspace:
    """Tables and settings below one folder."""

    def __init__(self, folder: Path | str, *, must_exist: bool = True) -> None:
        self.folder = Path(folder)
        if must_exist and not self.is_at(self.folder):
            raise WorkspaceError(
                f"{self.folder}: is not a Prophase workspace (it has no {SETTINGS}). "
                f"Make one with: prophase init {as_typed(self.folder)}"
            )

    @classmethod
    def create(cls, folder: Path | str) -> Self:
        """Make the folder a workspace; one that already is stays as it is."""
        made = cls.prepare(folder)
        with storage_errors(made.folder):
            made.folder.mkdir(parents=True, exist_ok=True)
            made._write_settings()
        return made

    @classmethod
    def prepare(cls, folder: Path | str) -> Self:
        """Return the workspace at a folder; if it is none yet, the first table makes it one."""
        return cls(folder, must_exist=False)

    @staticmethod
    def is_at(folder: Path | str) -> bool:
        return (Path(folder) / SETTINGS).is_file()

    @property
    def settings(self) -> JsonObject:
        path = self.folder / SETTINGS
        try:
            return tomllib.loads(path.read_text("utf-8") if path.exists() else _DEFAULT_SETTINGS)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
            raise WorkspaceError(
                f"{path}: is not valid TOML: {cause}. Correct that line."
            ) from cause
        except OSError as cause:
            raise storage_error(cause, path) from cause

    @property
    def tables(self) -> dict[str, TableEntry]:
        """Return what the workspace holds, by table name."""
        path = self.folder / INDEX
        if not path.exists():
            return {}
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            return {
                name: TableEntry(**{**entry, "columns": tuple(entry["columns"])})
                for name, entry in raw["tables"].items()
            }
        except (json.JSONDecodeError, KeyError, TypeError) as cause:
            raise WorkspaceError(
                f"{path}: the list of tables is damaged ({cause}). "
                "Restore it from a backup, or delete it and import again."
            ) from cause
        except OSError as cause:
            raise storage_error(cause, path) from cause

    def path_of(self, table: str) -> Path:
        """Return the Parquet file of a table."""
        entry = self.tables.get(table)
        if entry is None:
            said = not_among(
                f"{self.folder}: has no table {table!r}.", table, self.tables, heading="It has"
            )
            raise WorkspaceError(
                f"{said} Import one with: prophase import SOURCE PATH --workspace {self.folder}"
            )
        path = self.folder / entry.file
        if not _is_whole(path):
            raise _changed(path)
        return path

    def read(
        self, table: str, columns: list[str] | None = None, *, by: str | None = None
    ) -> pd.DataFrame:
        """Return a table in memory; jobs with their identity, also those stored without one.

        ``by`` names columns that group jobs instead of the workspace's own rule.
        """
        path, held = self.path_of(table), self.tables[table].columns
        wanted = list(held) if columns is None else columns
        if table != "jobs" or not (columns is None or {*IDENTITY} & {*columns}):
            return pd.read_parquet(path, columns=wanted)
        rule = file_rule(path)
        if rule is None or by:
            jobs = with_identity(pd.read_parquet(path, columns=list(held)), by=by)
            return jobs if columns is None else jobs[wanted]
        there = [column for column in wanted if column in held]
        return with_identity(pd.read_parquet(path, columns=there), rule, trusted=True)

    def by_column(self, table: str) -> pd.DataFrame:
        """Return a table whose columns are read as they are asked for, if it is large.

        For whom counts column by column; jobs stored without their identity are read whole.
        """
        # here and not above: most commands read no table of that size, and start without its engine
        from prophase.trace import column_table

        entry = self.tables[table]
        rule = file_rule(self.path_of(table)) if table == "jobs" else None
        named = table != "jobs" or rule is not None or {*IDENTITY} <= {*entry.columns}
        if entry.rows <= column_table.LARGE or not named:
            return self.read(table)
        lazy = column_table.ColumnTable(self.path_of(table), list(entry.columns))
        if rule is not None:
            with_rule(cast(pd.DataFrame, lazy), rule)
        return cast(pd.DataFrame, lazy)

    def check_file(self, table: str) -> None:
        """Refuse a table whose file is not the one that was written."""
        path = self.path_of(table)
        if file_hash(path) != self.tables[table].table_hash:
            raise _changed(path)

    def refuse_to_overwrite(
        self, names: Sequence[str], source_hash: str, *, appendable: bool = False
    ) -> None:
        """Stop before a table from other data would be lost, and say what the command offers."""
        held = self.tables
        clash = [name for name in names if name in held and held[name].source_hash != source_hash]
        if clash:
            entry = held[clash[0]]
            raise WorkspaceError(
                f"{self.folder}: already has {', '.join(clash)} from {entry.source} "
                f"({counted(entry.rows, 'row')}). Add --replace to put the new rows in their place"
                + (", or --append to add them." if appendable else ", or choose another folder.")
            )

    def store(
        self,
        parts: Mapping[str, Path],
        *,
        source: str,
        source_hash: str,
        command: str = "",
        clock: str = "relative",
        seed: int | None = None,
        report: JsonObject | None = None,
        dump_hash: str = "",
        appended: Sequence[str] = (),
    ) -> None:
        """Move finished Parquet files in and switch to them in one step; old files go then."""
        # here and not above: whoever answers from a kept model reads no table
        import pyarrow.parquet as pq

        held = self.tables
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entries = {}
        for name, part in parts.items():
            digest = file_hash(part)
            before = held[name] if name in appended else None
            entries[name] = TableEntry(
                name=name,
                file=f"tables/{name}-{digest[:12]}.parquet",
                rows=pq.read_metadata(part).num_rows,
                columns=visible_columns(part),
                table_hash=digest,
                source=_joined(before.source, source) if before else source,
                source_hash=f"{before.source_hash}+{source_hash}" if before else source_hash,
                command=command,
                made_at=now,
                clock=clock,
                seed=seed,
                dump_hash=f"{before.dump_hash or before.source_hash}+{dump_hash}"
                if before
                else dump_hash,
                report=report or {},
            )
        self._switch(entries, parts)

    def store_frames(
        self,
        frames: Mapping[str, pd.DataFrame],
        *,
        source: str,
        source_hash: str,
        command: str = "",
        clock: str = "relative",
        seed: int | None = None,
        replace: bool = False,
    ) -> None:
        """Write tables that are in memory, as an import writes those it reads."""
        if not replace:
            self.refuse_to_overwrite(list(frames), source_hash)
        with self.writing() as cache:
            parts = {name: cache / f"{name}.parquet" for name in frames}
            with storage_errors(cache):
                for name, frame in frames.items():
                    frame.to_parquet(parts[name], compression="zstd", index=False)
                    if name == "jobs":
                        parts[name], _ = identified(parts[name], rule_of(frame))
            self.store(
                parts,
                source=source,
                source_hash=source_hash,
                command=command,
                clock=clock,
                seed=seed,
            )

    def _write_settings(self) -> None:
        if not (self.folder / SETTINGS).exists():
            (self.folder / SETTINGS).write_text(_DEFAULT_SETTINGS, encoding="utf-8")

    def _switch(self, entries: Mapping[str, TableEntry], staged: Mapping[str, Path]) -> None:
        before = self.tables
        after = {**before, **entries}
        fresh = self.folder / (INDEX + ".part")
        try:
            (self.folder / "tables").mkdir(exist_ok=True)
            for name, part in staged.items():
                part.replace(self.folder / entries[name].file)
            listing = {"version": __version__, "tables": {n: asdict(e) for n, e in after.items()}}
            self._write_settings()
            fresh.write_text(json.dumps(listing, indent=1, default=str) + "\n", encoding="utf-8")
            fresh.replace(self.folder / INDEX)
        except OSError as cause:
            fresh.unlink(missing_ok=True)
            self._remove_unlisted(before)
            raise storage_error(cause, self.folder) from cause
        self._remove_unlisted(after)

    def _remove_unlisted(self, held: Mapping[str, TableEntry]) -> None:
        """Remove table files that no table uses: replaced ones, and those of a broken switch."""
        in_use = {self.folder / entry.file for entry in held.values()}
        for path in (self.folder / "tables").glob("*.parquet"):
            if path not in in_use:
                path.unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Hold the workspace for one writer and return its cache folder."""
        cache = self.folder / ".cache"
        new = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        with storage_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        busy = (
            f"{self.folder}: another command is writing to this workspace. Wait until it has "
            "finished."
        )
        with held_by_one(cache / "lock", WorkspaceError(busy)):
            try:
                yield cache
            finally:
                if not self.is_at(self.folder):
                    _remove_traces(cache, new)


def _remove_traces(cache: Path, new: Sequence[Path]) -> None:
    """Remove what a writer without success made; parts kept for the next try stay."""
    if [path.name for path in cache.iterdir()] == ["lock"]:
        (cache / "lock").unlink()
        with suppress(OSError):
            for folder in (cache, *new):
                folder.rmdir()


def _is_whole(path: Path) -> bool:
    """Say whether a Parquet file is there and ends as one does: a copy that was cut does not."""
    try:
        with path.open("rb") as stream:
            stream.seek(-len(_PARQUET_END), os.SEEK_END)
            return stream.read() == _PARQUET_END
    except PermissionError as cause:
        raise storage_error(cause, path) from cause
    except OSError:
        return False


def _changed(path: Path) -> WorkspaceError:
    return WorkspaceError(
        f"{path}: is missing or was changed. Restore it, or import the trace again with --replace."
    )


def _joined(held: str, source: str) -> str:
    """Name every source a table has rows of, once."""
    return held if source in held.split("+") else f"{held}+{source}"


def visible_columns(path: Path) -> tuple[str, ...]:
    """Return the columns of a Parquet file that hold a value and are not helpers."""
    import pyarrow.parquet as pq

    absent = columns_without_values(path)
    names = pq.read_schema(path).names
    return tuple(name for name in names if name not in absent and not name.startswith("_"))


def columns_without_values(path: Path) -> set[str]:
    """Return columns that are missing in every row, from the statistics in the file's footer."""
    import pyarrow.parquet as pq

    footer = pq.read_metadata(path)
    missing: dict[str, int] = {}
    for group in (footer.row_group(place) for place in range(footer.num_row_groups)):
        for column in (group.column(place) for place in range(group.num_columns)):
            known = column.statistics is not None and column.statistics.has_null_count
            nulls = column.statistics.null_count if known else 0
            missing[column.path_in_schema] = missing.get(column.path_in_schema, 0) + nulls
    return {name for name, count in missing.items() if count == footer.num_rows}
