"""A real PostgreSQL server on the loopback, for tests and benchmarks."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def postgres_programs() -> Path | None:
    """Return the folder of the server's programs; None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    named = shutil.which("postgres")
    best = found[-1] if found else Path(named).resolve() if named else None
    return best.parent if best else None


@contextmanager
def running_postgres(programs: Path) -> Iterator[str]:
    """Start a server with an empty cluster; yields its address without a database's name."""
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


def new_database(server: str) -> str:
    """Make an empty database and return its address."""
    import uuid

    from sqlalchemy import create_engine, text

    name = f"t{uuid.uuid4().hex[:12]}"
    address = f"{server}/postgres".replace("postgresql:", "postgresql+psycopg:")
    admin = create_engine(address, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return f"{server}/{name}"


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
