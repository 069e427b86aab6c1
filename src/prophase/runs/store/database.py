"""The database of a campaign: SQLite or PostgreSQL, with its tables at the right version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from prophase.errors import DatabaseError
from prophase.sql_database import SqlDatabase

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: any number will do, as long as all workers name the same
_MIGRATION_LOCK = 7_041_113


class Database(SqlDatabase):
    """A campaign's database. Every transaction is repeated while the server is away."""

    remedy: ClassVar[str] = "Correct the address, or run prophase runs init"

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
