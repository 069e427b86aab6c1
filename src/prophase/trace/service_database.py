"""The database of a workspace's service: a SQLite file in it, or PostgreSQL for several replicas.

The address is PROPHASE_DATABASE of the environment, else ``database`` below ``[serve]`` of
prophase.toml, else the file ``service/feedback.sqlite``. All tables and statements are the same.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from prophase.errors import DatabaseError, ParameterError, storage_errors
from prophase.sql_database import SqlDatabase
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import REPORTED

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: the environment's word for the address; it may hold a password
ENVIRONMENT = "PROPHASE_DATABASE"
#: version of the tables; one that is newer than this is refused
_SCHEMA = 1
#: any number will do, as long as all replicas name the same
_SCHEMA_LOCK = 7_041_114


def shared_address(folder: Path | str) -> str | None:
    """Return the address of the database that replicas share; None for the file in a workspace.

    Examples
    --------
    >>> shared_address(Workspace.create(getfixture("tmp_path") / "ws").folder) is None
    True
    """
    named = os.environ.get(ENVIRONMENT, "").strip()
    if not named and Workspace.is_at(folder):
        held = Workspace(folder).settings.get("serve", {})
        named = held.get("database", "") if isinstance(held, dict) else ""
        if not isinstance(named, str):
            raise ParameterError(
                "prophase.toml: database below [serve] is an address such as "
                "postgresql://prophase@db/prophase."
            )
    if named and not named.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        raise ParameterError(
            f"{named.partition('://')[0]!r} is no database for several replicas. Write "
            "postgresql://USER@HOST/NAME, or leave it out for one service on one machine."
        )
    return named or None


def has_service_database(folder: Path | str) -> bool:
    """Say whether a service has kept anything of a workspace, or may have."""
    return (Path(folder) / REPORTED).is_file() or shared_address(folder) is not None


def may_have_reports(folder: Path | str) -> bool:
    """Say whether finished jobs may have been reported; a file without any is told at once.

    Examples
    --------
    >>> ServiceDatabase.of(getfixture("tmp_path")).close()
    >>> has_service_database(getfixture("tmp_path")), may_have_reports(getfixture("tmp_path"))
    (True, False)
    """
    if not has_service_database(folder) or shared_address(folder) is not None:
        return has_service_database(folder)
    # without SQLAlchemy, which takes longer to load than most answers
    address = f"{(Path(folder) / REPORTED).resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=1.0)) as held:
            return held.execute("SELECT 1 FROM feedback LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        # whoever opens it to read says what is wrong
        return True


class ServiceDatabase(SqlDatabase):
    """What a service keeps: reports, tokens, tasks, attempts, spent requests, versions of models.

    Examples
    --------
    >>> base = ServiceDatabase.of(getfixture("tmp_path"))
    >>> base.is_postgres
    False
    >>> base.close()
    """

    remedy: ClassVar[str] = "Correct the address in PROPHASE_DATABASE or prophase.toml"

    @classmethod
    def of(cls, folder: Path | str, *, durable: bool = False, patience_s: float = 20.0) -> Self:
        """Open the database of a workspace's service, and make the tables that are missing."""
        shared = shared_address(folder)
        if shared is not None:
            found = cls(shared, patience_s=patience_s)
        else:
            path = Path(folder) / REPORTED
            with storage_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                # hashes of tokens are nobody else's business
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
                with suppress(PermissionError):
                    path.chmod(0o600)
            found = cls(f"sqlite:///{path}", patience_s=patience_s, durable=durable)
        try:
            found._prepare()
        except BaseException:
            found.close()
            raise
        return found

    @property
    def file(self) -> Path | None:
        """The SQLite file; None if it is on a server."""
        return None if self.is_postgres else Path(str(self.engine.url.database))

    def lock(self, connection: Connection, number: int) -> None:
        """Let one transaction at a time go on from here; on SQLite only one writes anyway."""
        from sqlalchemy import text

        if self.is_postgres:
            connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": number})

    def _prepare(self) -> None:
        from sqlalchemy import insert, inspect, select

        from prophase.trace.service_tables import NUMBERS, metadata

        def version(connection: Connection) -> int | None:
            if not inspect(connection).has_table(NUMBERS.name):
                return None
            return connection.execute(
                select(NUMBERS.c.number).where(NUMBERS.c.name == "schema")
            ).scalar()

        def make(connection: Connection) -> None:
            self.lock(connection, _SCHEMA_LOCK)
            if version(connection) is None:
                metadata.create_all(connection)
                connection.execute(insert(NUMBERS).values(name="schema", number=_SCHEMA))

        found = self.read(version)
        if found is None:
            self.write(make)
        elif found > _SCHEMA:
            raise DatabaseError(
                f"{self.shown_url}: was written by a newer Prophase than this one. Update with: "
                "pip install --upgrade prophase"
            )
