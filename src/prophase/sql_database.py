"""Open a SQL database, SQLite or PostgreSQL, and repeat what fails while its server is away."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from prophase.errors import DatabaseError, MissingExtraError, ProphaseError, StorageError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

Result = TypeVar("Result")
#: how long a command waits for a database that does not answer
PATIENCE_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0

_log = logging.getLogger(__name__)


class SqlDatabase:
    """A database. Every transaction is repeated while the server is away.

    Parameters
    ----------
    url : str
        ``sqlite:///runs.db``, or ``postgresql://user@host/name``.
    patience_s : float, default=60
        How long to try again, with growing pauses, before giving up.
    durable : bool, default=False
        Whether a commit to a SQLite file has reached the disk when it returns; PostgreSQL always
        waits for it.

    Examples
    --------
    >>> from sqlalchemy import text
    >>> base = SqlDatabase(f"sqlite:///{getfixture('tmp_path')}/a.db")
    >>> base.read(lambda connection: connection.execute(text("SELECT 1 + 1")).scalar())
    2
    >>> base.close()
    """

    #: what to do about an address or a table that is not there
    remedy: ClassVar[str] = "Correct the address"

    def __init__(self, url: str, *, patience_s: float = PATIENCE_S, durable: bool = False) -> None:
        self.url = url
        self.patience_s = patience_s
        self.engine = _engine(url, durable=durable)
        self.is_postgres = self.engine.dialect.name == "postgresql"

    def write(
        self,
        work: Callable[[Connection], Result],
        *,
        patience_s: float | None = None,
        alone: bool = False,
    ) -> Result:
        """Run ``work`` in a transaction of its own; it must bear being run again.

        With ``alone``, each statement of it is a transaction, which saves two messages to the
        server and back.
        """

        def once() -> Result:
            if alone and self.is_postgres:
                with self.engine.connect() as connection:
                    return work(connection.execution_options(isolation_level="AUTOCOMMIT"))
            with self.engine.begin() as connection:
                return work(connection)

        return self._patiently(once, patience_s)

    def read(
        self, work: Callable[[Connection], Result], *, patience_s: float | None = None
    ) -> Result:
        """Run ``work`` without keeping others from writing."""

        def once() -> Result:
            with self.engine.connect().execution_options(prophase_reads=True) as connection:
                return work(connection)

        return self._patiently(once, patience_s)

    @property
    def shown_url(self) -> str:
        """The address without the password."""
        return self.engine.url.render_as_string(hide_password=True)

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    def _patiently(self, work: Callable[[], Result], patience_s: float | None) -> Result:
        from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

        patience = self.patience_s if patience_s is None else patience_s
        give_up_at = time.monotonic() + patience
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return work()
            except (OperationalError, InterfaceError) as cause:
                refusal = _lasting(cause, self.shown_url, self.remedy)
                if refusal is not None:
                    raise refusal from cause
                if time.monotonic() + pause_s > give_up_at:
                    raise DatabaseError(
                        f"{self.shown_url}: does not answer for {patience:g} s "
                        f"({_first_line(cause)}). Start the database or correct the address, then "
                        "run the same command; nothing is lost."
                    ) from cause
                _log.warning("database: %s; trying again in %.1f s", _first_line(cause), pause_s)
            except DBAPIError as cause:
                if not cause.connection_invalidated and not _connection_died(cause):
                    raise DatabaseError(f"{self.shown_url}: {_first_line(cause)}.") from cause
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _engine(url: str, *, durable: bool) -> Engine:
    try:
        from sqlalchemy import create_engine, event
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    except ImportError as cause:
        raise MissingExtraError("A database", "runs") from cause
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
        # FULL: a commit has reached the disk when it returns, even if the power fails then
        raw.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        raw.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # a transaction that reads first and writes later would fail if another wrote in between
        reads = connection.get_execution_options().get("prophase_reads")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def _lasting(cause: object, url: str, remedy: str) -> ProphaseError | None:
    """Return our error if waiting would not help."""
    said = _first_line(cause)
    if "database or disk is full" in said or "No space left" in said:
        return StorageError(f"{url}: no space left on the device. Free some, then run it again.")
    if "unable to open database file" in said or "readonly database" in said:
        return StorageError(f"{url}: cannot be opened ({said}). Check the folder and its mode.")
    for words in ("password authentication failed", "does not exist", "no such table"):
        if words in said:
            return DatabaseError(f"{url}: {said}. {remedy}.")
    return None


def _connection_died(cause: object) -> bool:
    return "terminating connection" in str(cause) or "server closed the connection" in str(cause)


def _first_line(cause: object) -> str:
    return str(getattr(cause, "orig", cause)).strip().splitlines()[0].rstrip(".")
