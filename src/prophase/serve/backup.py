"""Backup and restore of a workspace or a campaign, with its databases, while they are in use."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

from prophase.errors import FormatError, RefusedError, WorkspaceError, storage_errors
from prophase.json_types import JsonObject
from prophase.serve.loaded_workspace import stamps_of
from prophase.trace.workspace import SETTINGS
from prophase.trace.workspace_paths import UPLOADS
from prophase.version import __version__

#: what the list of an archive is called; it comes last, so that one that was cut off has none
_LIST = "prophase-backup.json"
#: rows of a database on a server, table by table
_ROWS = ".database.jsonl"
_SQLITE = (".db", ".sqlite")
#: times that a workspace is read again because it was changed meanwhile
_TRIES = 5


@dataclass(frozen=True)
class BackupSummary:
    """What an archive holds."""

    file: str
    files: int
    bytes: int
    #: rows of databases on a server
    rows: int
    made_at: str
    version: str


def back_up(folder: Path, target: Path) -> BackupSummary:
    """Write a folder with its databases into one archive, whole or not at all.

    SQLite files are copied by SQLite itself, so a service or a worker may go on meanwhile. The runs
    of a campaign on PostgreSQL are written row by row.

    Examples
    --------
    >>> from prophase.trace.workspace import Workspace
    >>> home = getfixture("tmp_path")
    >>> made = back_up(Workspace.create(home / "ws").folder, home / "ws.tar.gz")
    >>> shutil.rmtree(home / "ws")
    >>> restore(home / "ws.tar.gz", home / "ws").files == made.files
    True
    """
    if not any((folder / name).is_file() for name in (SETTINGS, "campaign.toml")):
        raise WorkspaceError(
            f"{folder}: is neither a workspace nor a campaign, so there is nothing to back up."
        )
    for _ in range(_TRIES):
        before = stamps_of(folder)
        with storage_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{target.name}.{os.getpid()}.part")
            try:
                made = _write(folder, part, target.name)
                if stamps_of(folder) == before:
                    part.replace(target)
                    return made
            except FileNotFoundError:
                # a table was replaced while we read the one before
                continue
            finally:
                part.unlink(missing_ok=True)
    raise RefusedError(f"{folder}: changes all the time. Back it up when no import or learn runs.")


def restore(archive: Path, folder: Path, *, database: str | None = None) -> BackupSummary:
    """Make a folder again from an archive; every file is checked before it appears.

    Parameters
    ----------
    database : str, optional
        Address of an empty database for runs that were on a server; by default the one that the
        campaign names.
    """
    if folder.exists() and any(folder.iterdir()):
        raise RefusedError(
            f"{folder}: is not empty, and nothing there is overwritten. Name another folder, or "
            "move it away first."
        )
    with storage_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            summary = _unpacked(archive, fresh)
            for rows in fresh.rglob(f"*{_ROWS}"):
                _put_rows(rows, database)
                rows.unlink()
            fresh.chmod(0o755)
            if folder.exists():
                folder.rmdir()
            fresh.replace(folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    return summary


def _write(folder: Path, part: Path, name: str) -> BackupSummary:
    listed: dict[str, str] = {}
    size = rows = 0
    with tarfile.open(part, "w:gz", compresslevel=3) as archive:
        for inner, stream, length in _contents(folder):
            digest = hashlib.sha256()
            with stream:
                content = stream.read()
            digest.update(content)
            entry = tarfile.TarInfo(inner)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
            listed[inner] = digest.hexdigest()
            size += length
            rows += content.count(b"\n") if inner.endswith(_ROWS) else 0
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        about = {"version": __version__, "made_at": made_at, "rows": rows, "files": listed}
        text = json.dumps(about, sort_keys=True).encode()
        entry = tarfile.TarInfo(_LIST)
        entry.size, entry.mode = len(text), 0o600
        archive.addfile(entry, io.BytesIO(text))
    with part.open("rb") as written:
        os.fsync(written.fileno())
    return BackupSummary(name, len(listed), size, rows, made_at, __version__)


def _contents(folder: Path) -> Iterator[tuple[str, IO[bytes], int]]:
    """Return every file that counts: its name inside, its content, its size."""
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if not path.is_file() or path.is_symlink() or _is_passing(inner):
            continue
        if path.suffix in _SQLITE:
            copy = _sqlite_copy(path)
            yield inner.as_posix(), io.BytesIO(copy), len(copy)
        else:
            yield inner.as_posix(), path.open("rb"), path.stat().st_size
    for campaign in sorted(folder.rglob("campaign.toml")):
        found = _server_rows(campaign.parent)
        if found is not None:
            inner = campaign.parent.relative_to(folder) / f"campaign{_ROWS}"
            yield inner.as_posix(), io.BytesIO(found), len(found)


def _is_passing(inner: Path) -> bool:
    """Say whether a file is of no use later: locks, halves, caches, uploads, logs of SQLite."""
    name = inner.name
    return (
        UPLOADS in inner.parents
        or ".cache" in inner.parts
        or name.endswith((".part", ".lock", "-wal", "-shm"))
        or name == "lock"
    )


def _sqlite_copy(path: Path) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / path.name
        try:
            source = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30.0)
            target = sqlite3.connect(copy)
            try:
                source.backup(target)
            finally:
                target.close()
                source.close()
        except sqlite3.Error as cause:
            raise FormatError(f"{path}: cannot be copied: {cause}.") from cause
        return copy.read_bytes()


def _server_rows(folder: Path) -> bytes | None:
    """Return all rows of a campaign whose runs are on a server; None if they are in a file."""
    from prophase.runs.campaign import Campaign

    campaign = Campaign.open(folder)
    try:
        if not campaign.database.is_postgres:
            return None
        from sqlalchemy import Connection, select

        from prophase.runs.store.tables import metadata

        def read(connection: Connection) -> list[str]:
            return [
                json.dumps({"table": table.name, "row": dict(row._mapping)}, default=str)
                for table in metadata.sorted_tables
                for row in connection.execute(select(table))
            ]

        lines = campaign.database.read(read)
        return "".join(f"{line}\n" for line in lines).encode()
    finally:
        campaign.database.close()


def _put_rows(rows: Path, database: str | None) -> None:
    """Write the rows of a campaign into an empty database."""
    from sqlalchemy import Connection, func, insert, select, text

    from prophase.runs.campaign import Campaign
    from prophase.runs.store.database import Database
    from prophase.runs.store.tables import RUNS, metadata

    named = Campaign(rows.parent).database
    target = Database(database) if database else named
    by_table: dict[str, list[JsonObject]] = {}
    for line in rows.read_text(encoding="utf-8").splitlines():
        held = json.loads(line)
        by_table.setdefault(held["table"], []).append(held["row"])
    for row in by_table.get("runs", []):
        row["execution_date"] = date.fromisoformat(row["execution_date"])

    def write(connection: Connection) -> None:
        if connection.execute(select(func.count()).select_from(RUNS)).scalar_one():
            raise RefusedError(
                f"{target.shown_url}: has runs already, and none is overwritten. Name an empty "
                "database with --database."
            )
        for table in metadata.sorted_tables:
            held = by_table.get(table.name, [])
            if held:
                connection.execute(insert(table), held)
            key = list(table.primary_key.columns)
            if target.is_postgres and key[0].autoincrement is True:
                asked = (
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', '{key[0].name}'), "
                    f"(SELECT coalesce(max({key[0].name}), 1) FROM {table.name}))"
                )
                connection.execute(text(asked))

    try:
        target.migrate()
        target.write(write)
    finally:
        target.close()
        named.close()
    if database:
        _name_database(rows.parent / "campaign.toml", database)


def _name_database(settings: Path, database: str) -> None:
    lines = settings.read_text(encoding="utf-8").splitlines()
    kept = [
        f"database = {json.dumps(database)}" if line.startswith("database =") else line
        for line in lines
    ]
    settings.write_text("\n".join(kept) + "\n", encoding="utf-8")


def _unpacked(archive: Path, fresh: Path) -> BackupSummary:
    about: dict[str, Any] | None = None
    found: dict[str, str] = {}
    size = 0
    try:
        with tarfile.open(archive, "r:gz") as held:
            for entry in held:
                inner = PurePosixPath(entry.name)
                if not entry.isfile() or inner.is_absolute() or ".." in inner.parts:
                    raise FormatError(f"{archive}: {entry.name[:200]!r} has no place in a backup.")
                stream = held.extractfile(entry)
                assert stream is not None
                content = stream.read()
                if entry.name == _LIST:
                    about = json.loads(content)
                    continue
                found[entry.name] = hashlib.sha256(content).hexdigest()
                size += len(content)
                target = fresh.joinpath(*inner.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
    except FileNotFoundError as cause:
        raise FormatError(f"{archive}: there is no such file.") from cause
    except (tarfile.TarError, EOFError, ValueError, OSError) as cause:
        raise FormatError(f"{archive}: is no backup, or is damaged: {cause}.") from cause
    if about is None:
        raise FormatError(f"{archive}: has no list of its files; it was cut off. Take another.")
    wrong = sorted(
        name for name in {*found, *about["files"]} if found.get(name) != about["files"].get(name)
    )
    if wrong:
        raise FormatError(f"{archive}: {wrong[0]} is damaged or missing. Take another backup.")
    return BackupSummary(
        archive.name, len(found), size, about["rows"], about["made_at"], about["version"]
    )
