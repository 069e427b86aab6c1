"""Claims: the right of one worker to move a run, which ends by itself when he goes silent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, func, or_, select, text, update

from prophase.runs.states import Branch
from prophase.runs.store.looking import Looking, joined
from prophase.runs.store.records import Claim, run_of
from prophase.runs.store.tables import CLAIMS, RUNS


class Claiming(Looking):
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


def _claimable(branch: Branch, now: Any, most: int) -> Any:
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


def _busy(connection: Connection, branch: Branch, now: Any) -> int:
    """Count runs in the step: triggered ones, and those being triggered right now."""
    triggered = select(func.count()).select_from(RUNS).where(RUNS.c.state == int(branch.busy))
    held = (
        select(func.count())
        .select_from(CLAIMS.join(RUNS, RUNS.c.id == CLAIMS.c.run))
        .where(CLAIMS.c.leased_until_s >= now, RUNS.c.state == int(branch.takes))
    )
    return int(connection.execute(triggered).scalar_one() + connection.execute(held).scalar_one())
