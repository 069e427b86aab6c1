"""Claims: the right of one worker to move a run, which ends by itself when he goes silent."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from prophase.runs.states import Branch
from prophase.runs.store.database import Database
from prophase.runs.store.records import Claim, RunQueries, joined, run_of
from prophase.runs.store.tables import CLAIMS, RUNS, WORKERS


class LeaseQueries(RunQueries):
    """Who works on what."""

    def claim(
        self, branch: Branch, worker: str, *, most: int, parallel: int = 0, lease_s: float = 60.0
    ) -> list[Claim]:
        """Take up to ``most`` runs that a branch can work on, each for this worker alone.

        Parameters
        ----------
        parallel : int, default=0
            How many runs may be in the branch's step at once, over all workers; 0 is any number.
        lease_s : float, default=60
            How long the runs stay ours without a sign of life (:meth:`renew`).
        """

        def take(connection: Connection) -> list[Claim]:
            now = self._now
            room = most
            if parallel and branch.kind == "trigger":
                if self.database.is_postgres:
                    # workers count one after the other, so that together they stay below the limit
                    key = 1000 + int(branch.takes)
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
                room = min(most, parallel - _busy(connection, branch, now))
            if room <= 0:
                return []
            rows = connection.execute(_claimable(branch, now, room)).all()
            if rows:
                connection.execute(
                    update(CLAIMS)
                    .where(CLAIMS.c.run.in_([row.id for row in rows]))
                    .values(
                        worker=worker,
                        token=CLAIMS.c.token + 1,
                        leased_until_s=now + lease_s,
                        looked_at_s=now,
                    )
                )
            return [Claim(run_of(row), worker, row.token + 1) for row in rows]

        return self.database.write(take)

    def claim_one(self, run_id: int, worker: str, *, lease_s: float = 60.0) -> Claim | None:
        """Take one run, whatever its state; None if somebody works on it."""

        def take(connection: Connection) -> Claim | None:
            now = self._now
            free = (RUNS.c.id == run_id, CLAIMS.c.leased_until_s < now)
            row = connection.execute(joined().where(*free).with_for_update()).first()
            if row is None:
                return None
            values = {"worker": worker, "token": row.token + 1, "leased_until_s": now + lease_s}
            connection.execute(update(CLAIMS).where(CLAIMS.c.run == run_id).values(**values))
            return Claim(run_of(row), worker, row.token + 1)

        return self.database.write(take)

    def renew(self, claims: Sequence[Claim], *, lease_s: float) -> None:
        """Say that the holder still works on these."""
        if not claims:
            return

        def extend(connection: Connection) -> None:
            until_s = self._now + lease_s
            ours = [and_(CLAIMS.c.run == c.run.id, CLAIMS.c.token == c.token) for c in claims]
            connection.execute(
                update(CLAIMS)
                .where(or_(*ours), CLAIMS.c.worker == claims[0].worker)
                .values(leased_until_s=until_s)
            )

        self.database.write(extend)

    def release(self, claim: Claim) -> None:
        """Give a run back unchanged."""
        ours = (CLAIMS.c.run == claim.run.id, CLAIMS.c.token == claim.token)
        free = update(CLAIMS).where(*ours).values(worker=None, leased_until_s=0.0)
        self.database.write(lambda connection: connection.execute(free))

    def release_expired(self) -> list[tuple[int, str]]:
        """Free what silent workers hold; return (run, worker) for each."""

        def free(connection: Connection) -> list[tuple[int, str]]:
            silent = and_(CLAIMS.c.worker.is_not(None), CLAIMS.c.leased_until_s < self._now)
            held = connection.execute(select(CLAIMS.c.run, CLAIMS.c.worker).where(silent)).all()
            connection.execute(update(CLAIMS).where(silent).values(worker=None, leased_until_s=0.0))
            return [(row.run, row.worker) for row in held]

        return self.database.write(free)


def _claimable(branch: Branch, now: ColumnElement[float], most: int) -> Select[Any]:
    # triggers go by age, checks take turns
    order = (RUNS.c.id,) if branch.kind == "trigger" else (CLAIMS.c.looked_at_s, RUNS.c.id)
    return (
        joined()
        .where(RUNS.c.state == int(branch.takes), CLAIMS.c.leased_until_s < now)
        .order_by(*order)
        .limit(most)
        # both rows: a claim must see the newest state as well as the newest lease
        .with_for_update(skip_locked=True, of=[RUNS, CLAIMS])
    )


def _busy(connection: Connection, branch: Branch, now: ColumnElement[float]) -> int:
    """Count runs in the step: triggered ones, and those being triggered right now."""
    triggered = select(func.count()).select_from(RUNS).where(RUNS.c.state == int(branch.busy))
    held = (
        select(func.count())
        .select_from(CLAIMS.join(RUNS, RUNS.c.id == CLAIMS.c.run))
        .where(CLAIMS.c.leased_until_s >= now, RUNS.c.state == int(branch.takes))
    )
    return int(connection.execute(triggered).scalar_one() + connection.execute(held).scalar_one())


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
