"""Tables and models that replicas share: published as numbered versions, one of them in use.

A replica that finds a newer version in use fetches what differs and switches to it; one whose own
files were changed by a command or a task publishes them. Contents are kept once, by their hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from prophase.errors import FormatError, ParameterError, WorkspaceError, storage_errors
from prophase.trace.service_database import ServiceDatabase
from prophase.trace.workspace import INDEX, Workspace
from prophase.trace.workspace_paths import SERVICE, WATCH

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: folders of the workspace that belong to a version
_FOLDERS = ("tables", "models", str(WATCH))
#: versions that are kept, the one in use among them
_KEPT = 10
_PART = 4 << 20
_PUBLISH_LOCK = 7_041_118
#: name of the number that says which version is in use
_IN_USE = "models"


@dataclass(frozen=True)
class ModelVersion:
    """Tables and models that were published together."""

    number: int
    made_at: str
    made_by: str
    #: path in the workspace -> SHA-256
    files: Mapping[str, str]
    in_use: bool = False


class ModelVersions:
    """The versions of a workspace.

    Parameters
    ----------
    folder : path
        The workspace.

    Examples
    --------
    >>> from prophase.trace.workspace import Workspace
    >>> versions = ModelVersions(Workspace.create(getfixture("tmp_path") / "ws").folder)
    >>> (versions.base.file.parents[1] / "models").mkdir()
    >>> _ = (versions.base.file.parents[1] / "models" / "bins.model").write_bytes(b"learnt")
    >>> versions.publish("ann").number, versions.publish("ann") is None
    (1, True)
    >>> versions.close()
    """

    def __init__(self, folder: Path | str) -> None:
        self.workspace = Workspace(folder)
        self.base = ServiceDatabase.of(folder)
        self._state = Path(folder) / SERVICE / "models.json"
        self._hashes: dict[str, tuple[tuple[int, int, int], str]] = {}
        self._lock = threading.Lock()
        #: the version that this workspace has
        self.number = self._held()[0]

    def all(self) -> list[ModelVersion]:
        """Return the versions that are kept, the latest first."""
        from sqlalchemy import select

        from prophase.trace.service_tables import VERSIONS

        def read(connection: Connection) -> list[ModelVersion]:
            now = _in_use(connection)
            rows = connection.execute(select(VERSIONS).order_by(VERSIONS.c.number.desc())).all()
            return [
                ModelVersion(
                    one.number, one.made_at, one.made_by, json.loads(one.files), one.number == now
                )
                for one in rows
            ]

        return self.base.read(read)

    def current(self) -> ModelVersion | None:
        """Return the version in use."""
        return next((one for one in self.all() if one.in_use), None)

    def synchronise(self, who: str) -> bool:
        """Publish what was changed here, else fetch what is in use; says whether files changed."""
        with self._lock:
            number, files, broken = self._held()
            if not broken and self._local() != dict(files):
                self._publish(who)
                return False

            def read(connection: Connection) -> int | None:
                return _in_use(connection)

            in_use = self.base.read(read)
            if in_use is None or (in_use == number and not broken):
                return False
            return self._fetch()

    def publish(self, who: str) -> ModelVersion | None:
        """Make the files of this workspace the version in use; None if they already are."""
        with self._lock:
            return self._publish(who)

    def fetch(self) -> bool:
        """Take the version in use, whatever is here; says whether files changed."""
        with self._lock:
            return self._fetch()

    def use(self, number: int) -> ModelVersion:
        """Put a version in use that was published before; replicas switch to it."""
        found = {one.number: one for one in self.all()}
        if number not in found:
            known = ", ".join(map(str, found)) or "none"
            raise ParameterError(f"there is no version {number}. There are: {known}.")
        self.base.write(lambda connection: _put_in_use(connection, number))
        return found[number]

    def close(self) -> None:
        """Give back connections."""
        self.base.close()

    def _publish(self, who: str) -> ModelVersion | None:
        from sqlalchemy import insert

        from prophase.trace.service_tables import VERSIONS

        _, before, _ = self._held()
        now = self.current()
        local = self._local()
        changed = {path: digest for path, digest in local.items() if before.get(path) != digest}
        gone = set(before) - set(local)
        # what others published since stays, unless it was changed here as well
        files = {**(now.files if now else {}), **changed}
        files = {path: files[path] for path in sorted(files) if path not in gone}
        if now is not None and dict(now.files) == files:
            self._hold(now.number, files)
            return None
        made_at = datetime.now(UTC).isoformat(timespec="seconds")

        def write(connection: Connection) -> int:
            self.base.lock(connection, _PUBLISH_LOCK)
            for path, digest in changed.items():
                _put_content(connection, self.workspace.folder / path, digest)
            row = {"made_at": made_at, "made_by": who, "files": json.dumps(files)}
            made = connection.execute(insert(VERSIONS).values(**row)).inserted_primary_key
            assert made is not None
            _put_in_use(connection, made[0])
            _forget_old(connection)
            return int(made[0])

        number = self.base.write(write)
        self._hold(number, files)
        return ModelVersion(number, made_at, who, files, True)

    def _fetch(self) -> bool:
        now = self.current()
        if now is None:
            return False
        folder = self.workspace.folder
        local = self._local()
        wanted = {path: digest for path, digest in now.files.items() if local.get(path) != digest}
        try:
            with self.workspace.writing() as cache, storage_errors(folder):
                self._hold(now.number, now.files, broken=True)
                parts = {
                    path: self._downloaded(digest, cache / f"fetched-{place}")
                    for place, (path, digest) in enumerate(sorted(wanted.items(), key=_index_last))
                }
                for path, part in parts.items():
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    part.replace(folder / path)
                for path in set(local) - set(now.files):
                    (folder / path).unlink(missing_ok=True)
                self._hold(now.number, now.files)
        except WorkspaceError:
            # a command writes here; the next look fetches
            return False
        return bool(wanted)

    def _downloaded(self, digest: str, part: Path) -> Path:
        from sqlalchemy import select

        from prophase.trace.service_tables import CONTENTS

        def read(connection: Connection) -> None:
            mine = select(CONTENTS.c.bytes).where(CONTENTS.c.sha256 == digest)
            with part.open("wb") as out:
                number = 0
                # one part in memory at a time
                asked = mine.where(CONTENTS.c.part == number)
                while (piece := connection.execute(asked).scalar()) is not None:
                    out.write(piece)
                    number += 1
                    asked = mine.where(CONTENTS.c.part == number)
                out.flush()
                os.fsync(out.fileno())

        self.base.read(read)
        if _digest(part) != digest:
            part.unlink(missing_ok=True)
            raise FormatError(
                f"{self.base.shown_url}: a published file is damaged. Publish again from a "
                "workspace that is whole: prophase serve models publish WORKSPACE"
            )
        return part

    def _local(self) -> dict[str, str]:
        """Return the files here that belong to a version."""
        found = {}
        for path in _files(self.workspace.folder):
            try:
                stat = path.stat()
                stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
                inner = path.relative_to(self.workspace.folder).as_posix()
                known = self._hashes.get(inner)
                if known is None or known[0] != stamp:
                    known = self._hashes[inner] = (stamp, _digest(path))
            except FileNotFoundError:
                continue
            found[inner] = known[1]
        return found

    def _held(self) -> tuple[int | None, Mapping[str, str], bool]:
        """Return the version that was fetched or published last, its files, and whether in half."""
        try:
            held = json.loads(self._state.read_text("utf-8"))
            return held["number"], held["files"], bool(held["broken"])
        except (OSError, ValueError, KeyError, TypeError):
            return None, {}, False

    def _hold(self, number: int, files: Mapping[str, str], *, broken: bool = False) -> None:
        part = self._state.with_suffix(".part")
        told = json.dumps({"number": number, "files": dict(files), "broken": broken})
        with storage_errors(self._state):
            self._state.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            part.write_text(told, encoding="utf-8")
            part.replace(self._state)
        self.number = number


def _files(folder: Path) -> Iterator[Path]:
    if (folder / INDEX).is_file():
        yield folder / INDEX
    for name in _FOLDERS:
        for path in sorted((folder / name).rglob("*")):
            passing = path.name.startswith(".") or path.name.endswith((".part", ".lock"))
            if path.is_file() and not passing:
                yield path


def _index_last(item: tuple[str, str]) -> tuple[bool, str]:
    """Order files so that the list of tables comes after what it lists."""
    return PurePosixPath(item[0]) == PurePosixPath(INDEX), item[0]


def _digest(path: Path) -> str:
    with path.open("rb") as held:
        return hashlib.file_digest(held, "sha256").hexdigest()


def _in_use(connection: Connection) -> int | None:
    from sqlalchemy import select

    from prophase.trace.service_tables import NUMBERS

    found = connection.execute(select(NUMBERS.c.number).where(NUMBERS.c.name == _IN_USE)).scalar()
    return None if found is None else int(found)


def _put_in_use(connection: Connection, number: int) -> None:
    from sqlalchemy import update

    from prophase.trace.service_tables import NUMBERS, put_if_new

    put_if_new(connection, NUMBERS, {"name": _IN_USE, "number": number})
    connection.execute(update(NUMBERS).where(NUMBERS.c.name == _IN_USE).values(number=number))


def _put_content(connection: Connection, path: Path, digest: str) -> None:
    from prophase.trace.service_tables import CONTENTS, put_if_new

    check = hashlib.sha256()
    with path.open("rb") as held:
        for number, piece in enumerate(iter(lambda: held.read(_PART), b"")):
            check.update(piece)
            if not put_if_new(
                connection, CONTENTS, {"sha256": digest, "part": number, "bytes": piece}
            ):
                return
    if check.hexdigest() != digest:
        raise WorkspaceError(f"{path}: changed while it was published. Publish again.")


def _forget_old(connection: Connection) -> None:
    """Keep the latest versions and what they hold."""
    from sqlalchemy import delete, select

    from prophase.trace.service_tables import CONTENTS, VERSIONS

    rows = connection.execute(select(VERSIONS).order_by(VERSIONS.c.number.desc())).all()
    in_use = _in_use(connection)
    old = [one.number for one in rows[_KEPT:] if one.number != in_use]
    if not old:
        return
    connection.execute(delete(VERSIONS).where(VERSIONS.c.number.in_(old)))
    kept = {
        digest for one in rows if one.number not in old for digest in json.loads(one.files).values()
    }
    there = set(connection.execute(select(CONTENTS.c.sha256).distinct()).scalars())
    for digest in there - kept:
        connection.execute(delete(CONTENTS).where(CONTENTS.c.sha256 == digest))
