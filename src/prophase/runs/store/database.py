"""Open the database of a campaign: SQLite or PostgreSQL, at the right version, with patience."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prophase.errors import DatabaseError, MissingExtraError, StorageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

Result = TypeVar("Result")
#: how long a command waits for a database that does not answer
PATIENCE_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
#: any number will do, as long as all workers name the same
_MIGRATION_LOCK = 7_041_113

_log = logging.getLogger(__name__)


class Database:
    """A campaign's database. Every transaction is repeated while the server is away.

    Parameters
    ----------
    url : str
        ``sqlite:///runs.db``, or ``postgresql://user@host/name``.
    patience_s : float, default=60
        How long to try again, with growing pauses, before giving up.
    """

    def __init__(self, url: str, *, patience_s: float = PATIENCE_S) -> None:
        self.url = url
        self.patience_s = patience_s
        self.engine = _engine(url)
        self.is_postgres = self.engine.dialect.name == "postgresql"

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run ``work`` in a transaction of its own; it must bear being run again."""

        def once() -> Result:
            with self.engine.begin() as connection:
                return work(connection)

        return self._patiently(once)

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run ``work`` without keeping others from writing."""

        def once() -> Result:
            with self.engine.connect().execution_options(prophase_reads=True) as connection:
                return work(connection)

        return self._patiently(once)

    def migrate(self) -> None:
        """Bring the tables to the version of this program; data stays."""
        from sqlalchemy import text

        def upgrade(connection: Connection) -> None:
            if self.is_postgres:
                connection.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _MIGRATION_LOCK})
            with _readable(self.shown_url):
                _alembic("upgrade", connection)

        if self.read(_revision) != newest_revision():
            self.write(upgrade)

    @property
    def shown_url(self) -> str:
        """The address without the password."""
        return self.engine.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    def _patiently(self, work: Callable[[], Result]) -> Result:
        from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

        give_up_at = time.monotonic() + self.patience_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return work()
            except (OperationalError, InterfaceError) as cause:
                refusal = _lasting(cause, self.shown_url)
                if refusal is not None:
                    raise refusal from cause
                if time.monotonic() + pause_s > give_up_at:
                    raise DatabaseError(
                        f"{self.shown_url}: does not answer for {self.patience_s:g} s "
                        f"({_first_line(cause)}). Start the database or correct the address, then "
                        "run the same command; nothing is lost."
                    ) from cause
                _log.warning("database: %s; trying again in %.1f s", _first_line(cause), pause_s)
            except DBAPIError as cause:
                if not cause.connection_invalidated and not _connection_died(cause):
                    raise DatabaseError(f"{self.shown_url}: {_first_line(cause)}.") from cause
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _engine(url: str) -> Engine:
    try:
        from sqlalchemy import create_engine, event
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    except ImportError as cause:
        raise MissingExtraError("The table of runs", "runs") from cause
    try:
        address = make_url(url)
        if address.drivername in ("postgresql", "postgres"):
            address = address.set(drivername="postgresql+psycopg")
        if address.get_backend_name() == "postgresql":
            return create_engine(address, connect_args={"connect_timeout": 10}, pool_size=5)
        if address.get_backend_name() != "sqlite":
            raise NoSuchModuleError(address.drivername)
        engine = create_engine(address, connect_args={"timeout": 60})
    except ModuleNotFoundError as cause:
        raise MissingExtraError("PostgreSQL", "runs") from cause
    except (ArgumentError, NoSuchModuleError, ValueError) as cause:
        raise DatabaseError(
            f"{url!r}: is not an address of a database Prophase knows. Write "
            "sqlite:///FILE or postgresql://USER@HOST/NAME."
        ) from cause

    @event.listens_for(engine, "connect")
    def prepare(raw: sqlite3.Connection, record: object) -> None:
        # transactions begin below, and not where the driver thinks fit
        raw.isolation_level = None
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=NORMAL")
        raw.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # a transaction that reads first and writes later would fail if another wrote in between
        reads = connection.get_execution_options().get("prophase_reads")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def newest_revision() -> str:
    """Return the version of the tables that this program writes."""
    scripts = sorted((Path(__file__).parent / "migrations" / "versions").glob("0*.py"))
    return scripts[-1].name[:4]


def _revision(connection: Connection) -> str | None:
    from sqlalchemy import inspect, text

    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def _alembic(command: str, connection: Connection) -> None:
    from alembic import command as commands
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "prophase.runs.store:migrations")
    config.attributes["connection"] = connection
    getattr(commands, command)(config, "head")


@contextmanager
def _readable(url: str) -> Iterator[None]:
    from alembic.util.exc import CommandError

    try:
        yield
    except CommandError as cause:
        raise DatabaseError(
            f"{url}: was written by a newer Prophase than this one ({cause}). "
            "Update with: pip install --upgrade prophase"
        ) from cause


def _lasting(cause: object, url: str) -> Exception | None:
    """Return our error if waiting would not help."""
    said = _first_line(cause)
    if "database or disk is full" in said or "No space left" in said:
        return StorageError(f"{url}: no space left on the device. Free some, then run it again.")
    if "unable to open database file" in said or "readonly database" in said:
        return StorageError(f"{url}: cannot be opened ({said}). Check the folder and its mode.")
    for words in ("password authentication failed", "does not exist", "no such table"):
        if words in said:
            return DatabaseError(f"{url}: {said}. Correct the address, or run prophase runs init.")
    return None


def _connection_died(cause: object) -> bool:
    return "terminating connection" in str(cause) or "server closed the connection" in str(cause)


def _first_line(cause: object) -> str:
    return str(getattr(cause, "orig", cause)).strip().splitlines()[0].rstrip(".")
