"""Databases for the tests of runs: a SQLite file each, and one PostgreSQL server for all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prophase.runs.store.database import Database

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from postgres import new_database, postgres_programs, running_postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Address of a real server on the loopback, without a database's name."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server; tools/system-packages installs one")
    with running_postgres(programs) as address:
        yield address


@pytest.fixture
def new_postgres(postgres_server: str) -> Callable[[], str]:
    """Make an empty database and return its address."""
    return lambda: new_database(postgres_server)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.db"
    return request.getfixturevalue("new_postgres")()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """The same with its tables."""
    opened = Database(database_url)
    opened.migrate()
    yield opened
    opened.close()
