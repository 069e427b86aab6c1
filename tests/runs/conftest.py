"""Databases for the tests of runs: a SQLite file each, and one PostgreSQL server for all."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prophase.runs.store.database import Database


def _postgres_programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    named = shutil.which("postgres")
    best = found[-1] if found else Path(named).resolve() if named else None
    return best.parent if best else None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Address of a real server on the loopback, without a database's name."""
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server; tools/system-packages installs one")
    folder = Path(tempfile.mkdtemp(prefix="prophase-postgres-"))
    # the server refuses to run as root
    user = next((u for u in ("postgres", "nobody") if os.geteuid() == 0 and _has_user(u)), None)
    if user:
        shutil.chown(folder, user)
    as_user = {"user": user, "group": pwd.getpwnam(user).pw_gid} if user else {}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    made = [programs / "initdb", "-D", data, "-U", "prophase", "-A", "trust", "--no-sync"]
    subprocess.run(list(map(str, made)), cwd=folder, check=True, capture_output=True, **as_user)
    started = [programs / "postgres", "-D", data, "-p", port, "-k", folder, "-h", "127.0.0.1"]
    options = ["-c", "fsync=off", "-c", "max_connections=60"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [*map(str, started), *options], cwd=folder, stdout=log, stderr=log, **as_user
        )
    try:
        ready = [str(programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(port), "-q"]
        for _ in range(600):
            if subprocess.run(ready, check=False).returncode == 0:
                break
            time.sleep(0.1)
        yield f"postgresql://prophase@127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@pytest.fixture
def new_postgres(postgres_server: str) -> Callable[[], str]:
    """Make an empty database and return its address."""

    def make() -> str:
        from sqlalchemy import create_engine, text

        name = f"t{uuid.uuid4().hex[:12]}"
        admin = create_engine(
            f"{postgres_server}/postgres".replace("postgresql:", "postgresql+psycopg:"),
            isolation_level="AUTOCOMMIT",
        )
        with admin.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        admin.dispose()
        return f"{postgres_server}/{name}"

    return make


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
