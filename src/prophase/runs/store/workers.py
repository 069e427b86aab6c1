"""Which workers are alive."""

from __future__ import annotations

import os
import socket
import time
import uuid

from sqlalchemy import Connection, delete, insert, select, update

from prophase.runs.store.database import Database
from prophase.runs.store.tables import WORKERS


def new_worker_name() -> str:
    """Return a name no other worker has, which says where it runs."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"


class WorkerList:
    """The workers of a campaign and when they were last seen."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def beat(self, worker: str) -> None:
        """Say that a worker is alive."""
        now = time.time()

        def note(connection: Connection) -> None:
            seen = update(WORKERS).where(WORKERS.c.worker == worker).values(seen_at_s=now)
            if connection.execute(seen).rowcount == 0:
                row = {"worker": worker, "started_at_s": now, "seen_at_s": now}
                connection.execute(insert(WORKERS), row)

        self.database.write(note)

    def leave(self, worker: str) -> None:
        """Strike a worker off that ends in order."""
        gone = delete(WORKERS).where(WORKERS.c.worker == worker)
        self.database.write(lambda connection: connection.execute(gone))

    def silent_since(self, seconds: float) -> list[str]:
        """Strike off and return the workers that were not seen for so long."""
        before = WORKERS.c.seen_at_s < time.time() - seconds

        def strike(connection: Connection) -> list[str]:
            names = list(connection.scalars(select(WORKERS.c.worker).where(before)))
            connection.execute(delete(WORKERS).where(before))
            return names

        return self.database.write(strike)

    def alive(self) -> dict[str, float]:
        """Return each worker with the time it was last seen."""
        rows = self.database.read(lambda connection: connection.execute(select(WORKERS)).all())
        return {row.worker: row.seen_at_s for row in rows}
