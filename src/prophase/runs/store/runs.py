"""The table of runs: register, claim, move on, reset, look.

Every move happens in one transaction together with its line in the history. A worker moves a run
only under a claim that is still its own; a claim ends by itself when its holder goes silent.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Float, and_, func, insert, literal, or_, select, text, update

from prophase.errors import ParameterError
from prophase.runs.states import Branch, RunState, next_state
from prophase.runs.store.database import Database
from prophase.runs.store.records import (
    Claim,
    LostClaimError,
    Move,
    NewRun,
    Run,
    as_row,
    move_of,
    run_of,
    unclaimed_row,
)
from prophase.runs.store.tables import CLAIMS, HISTORY, RUNS, TASK_ROWS, VERSIONS

#: rows per statement; SQLite allows 32,766 values in one
_ROWS_AT_ONCE = 500


class RunStore:
    """The runs of a campaign.

    Parameters
    ----------
    database : Database
        Where they are; its tables must be up to date.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    # registration

    def register(self, runs: Iterable[NewRun], *, actor: str) -> int:
        """Add the runs that are not there yet and return how many were added."""
        wanted = {(run.scenario, run.execution_date, run.version): run for run in runs}

        def add(connection: Connection) -> int:
            now = connection.execute(select(self._now)).scalar_one()
            there = {
                (row.scenario, row.execution_date, row.scenario_version)
                for row in connection.execute(
                    select(RUNS.c.scenario, RUNS.c.execution_date, RUNS.c.scenario_version)
                )
            }
            fresh = [run for key, run in wanted.items() if key not in there]
            for at in range(0, len(fresh), _ROWS_AT_ONCE):
                rows = [as_row(run) for run in fresh[at : at + _ROWS_AT_ONCE]]
                ids = connection.scalars(insert(RUNS).returning(RUNS.c.id), rows).all()
                connection.execute(insert(CLAIMS), [unclaimed_row(run_id, now) for run_id in ids])
                first = {"time_s": now, "to_state": 0, "event": "registered", "actor": actor}
                connection.execute(insert(HISTORY), [{"run": i, **first} for i in ids])
            return len(fresh)

        return self.database.write(add)

    def save_version(self, version: str, *, pipeline: str, code: str) -> None:
        """Keep the pipeline and the place of the job code under the version's name."""

        def save(connection: Connection) -> None:
            known = select(VERSIONS.c.version).where(VERSIONS.c.version == version)
            if connection.execute(known).first() is None:
                row = {"version": version, "pipeline": pipeline, "code": code}
                connection.execute(insert(VERSIONS), {**row, "made_at_s": time.time()})

        self.database.write(save)

    def version(self, version: str) -> tuple[str, str]:
        """Return the pipeline and the place of the job code of a version."""
        asked = select(VERSIONS.c.pipeline, VERSIONS.c.code).where(VERSIONS.c.version == version)
        row = self.database.read(lambda connection: connection.execute(asked).first())
        if row is None:
            raise ParameterError(f"Version {version!r} of the job code was never registered.")
        return str(row.pipeline), str(row.code)

    # claims

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
            row = connection.execute(_joined().where(*free).with_for_update()).first()
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

    # moves

    def advance(
        self,
        claim: Claim,
        event: str,
        *,
        reason: str | None = None,
        task_rows: Sequence[Mapping[str, Any]] = (),
        **ids: str,
    ) -> RunState:
        """Move a claimed run by an event, and give the claim back.

        Parameters
        ----------
        reason : str, optional
            Why; kept in the history and, for a failure, in the run's notes.
        task_rows : sequence of mappings, optional
            What profiling found (``task``, ``attempt`` and values); saved in the same step.
        **ids : str
            ``dag_id``, ``run_id`` or ``profiling_id`` that the event brought.
        """

        def move(connection: Connection) -> RunState:
            state, held = _locked(connection, claim.run.id)
            if held.token != claim.token or held.worker != claim.worker:
                done = _moved_under(connection, claim)
                if done is not None:
                    # the answer to our commit was lost on the way, not the commit
                    return done
                raise LostClaimError(
                    f"Run {claim.run.id}: the claim of {claim.worker} ended before it could "
                    f"record {event!r}; whoever has the run now goes on with it."
                )
            moved = next_state(state, event)
            values: dict[str, Any] = {"state": int(moved), **ids}
            values["notes"] = reason if moved.failed else None
            self._write_move(connection, claim.run.id, state, moved, event, claim, reason, values)
            if task_rows:
                _save_task_rows(connection, claim.run.id, task_rows)
            return moved

        return self.database.write(move)

    def reset(self, run_id: int, goal: RunState, *, actor: str, reason: str = "") -> RunState:
        """Set a run back, so that the branches pick it up again; return where it was.

        Back to the beginning, everything is done anew. Back to a later state, what had succeeded
        stays: of an execution only the tasks that failed run again.
        """

        def back(connection: Connection) -> RunState:
            state, _ = _locked(connection, run_id)
            event = f"reset to {int(goal)}"
            next_state(state, event)
            values: dict[str, Any] = {"state": int(goal), "notes": None, "profiling_id": None}
            if goal is RunState.REGISTERED:
                values |= {"dag_id": None, "run_id": None}
            counts: dict[str, Any] = {"resets": CLAIMS.c.resets + 1, "token": CLAIMS.c.token + 1}
            if goal is RunState.REGISTERED:
                counts["beginnings"] = CLAIMS.c.beginnings + 1
            self._write_move(
                connection, run_id, state, goal, event, actor, reason or None, values, counts
            )
            connection.execute(TASK_ROWS.delete().where(TASK_ROWS.c.run == run_id))
            return state

        return self.database.write(back)

    def note(self, run_id: int, event: str, *, actor: str, reason: str) -> None:
        """Write a line of history about a run that stays where it is, and restart its clock."""

        def add(connection: Connection) -> None:
            state, _ = _locked(connection, run_id)
            now = self._now
            line: dict[str, Any] = {"run": run_id, "time_s": now, "event": event, "actor": actor}
            line |= {"from_state": int(state), "to_state": int(state), "reason": reason}
            connection.execute(insert(HISTORY).values(**line))
            again = update(CLAIMS).where(CLAIMS.c.run == run_id).values(changed_at_s=now)
            connection.execute(again)

        self.database.write(add)

    # looking

    def counts(self) -> dict[RunState, int]:
        """Return how many runs are in each state that has any."""
        asked = select(RUNS.c.state, func.count()).group_by(RUNS.c.state).order_by(RUNS.c.state)
        rows = self.database.read(lambda connection: connection.execute(asked).all())
        return {RunState(state): number for state, number in rows}

    def runs(
        self, *, states: Sequence[RunState] = (), after: int = 0, most: int | None = None
    ) -> list[Run]:
        """Return runs by id, all or those in some states, beginning behind ``after``."""
        asked = _joined().where(RUNS.c.id > after).order_by(RUNS.c.id).limit(most)
        if states:
            asked = asked.where(RUNS.c.state.in_([int(state) for state in states]))
        rows = self.database.read(lambda connection: connection.execute(asked).all())
        return [run_of(row) for row in rows]

    def run(self, run_id: int) -> Run:
        """Return one run."""
        asked = _joined().where(RUNS.c.id == run_id)
        row = self.database.read(lambda connection: connection.execute(asked).first())
        if row is None:
            raise ParameterError(f"There is no run {run_id}. See them with: prophase runs status")
        return run_of(row)

    def history(self, run_id: int) -> list[Move]:
        """Return all that ever happened to a run, oldest first."""
        asked = select(HISTORY).where(HISTORY.c.run == run_id).order_by(HISTORY.c.id)
        rows = self.database.read(lambda connection: connection.execute(asked).all())
        return [move_of(row) for row in rows]

    def task_rows(self) -> list[tuple[int, dict[str, Any]]]:
        """Return (run, values) of every attempt at a task of finished runs."""
        asked = select(TASK_ROWS).order_by(TASK_ROWS.c.run, TASK_ROWS.c.task, TASK_ROWS.c.attempt)
        rows = self.database.read(lambda connection: connection.execute(asked).all())
        return [
            (row.run, {"task": row.task, "attempt": row.attempt, **row.measured}) for row in rows
        ]

    def _write_move(
        self,
        connection: Connection,
        run_id: int,
        state: RunState,
        moved: RunState,
        event: str,
        by: Claim | str,
        reason: str | None,
        values: Mapping[str, Any],
        counts: Mapping[str, Any] | None = None,
    ) -> None:
        now = self._now
        token = by.token if isinstance(by, Claim) else None
        actor = by.worker if isinstance(by, Claim) else by
        connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(**values))
        connection.execute(
            update(CLAIMS)
            .where(CLAIMS.c.run == run_id)
            .values(
                worker=None, leased_until_s=0.0, looked_at_s=0.0, changed_at_s=now, **(counts or {})
            )
        )
        line: dict[str, Any] = {"run": run_id, "time_s": now}
        line |= {"from_state": int(state), "to_state": int(moved)}
        line |= {"event": event, "actor": actor, "reason": reason, "token": token}
        connection.execute(insert(HISTORY).values(**line))

    @property
    def _now(self) -> Any:
        """The clock all workers share: the server's, or this machine's for a file on it."""
        if self.database.is_postgres:
            return func.extract("epoch", func.clock_timestamp()).cast(Float(53))
        return literal(time.time())


def _claimable(branch: Branch, now: Any, most: int) -> Any:
    # triggers go by age, checks take turns
    order = (RUNS.c.id,) if branch.kind == "trigger" else (CLAIMS.c.looked_at_s, RUNS.c.id)
    return (
        _joined()
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


def _joined() -> Any:
    wanted = [CLAIMS.c.token, CLAIMS.c.beginnings, CLAIMS.c.resets, CLAIMS.c.changed_at_s]
    return select(RUNS, *wanted).join_from(RUNS, CLAIMS, CLAIMS.c.run == RUNS.c.id)


def _locked(connection: Connection, run_id: int) -> tuple[RunState, Any]:
    asked = (
        select(RUNS.c.state, CLAIMS.c.token, CLAIMS.c.worker)
        .join_from(RUNS, CLAIMS, CLAIMS.c.run == RUNS.c.id)
        .where(RUNS.c.id == run_id)
        .with_for_update()
    )
    row = connection.execute(asked).first()
    if row is None:
        raise ParameterError(f"There is no run {run_id}. See them with: prophase runs status")
    return RunState(row.state), row


def _moved_under(connection: Connection, claim: Claim) -> RunState | None:
    """Return where this very claim has already moved its run, if it has."""
    asked = select(HISTORY.c.to_state).where(
        HISTORY.c.run == claim.run.id, HISTORY.c.token == claim.token
    )
    found = connection.execute(asked).scalar()
    return None if found is None else RunState(found)


def _save_task_rows(
    connection: Connection, run_id: int, task_rows: Sequence[Mapping[str, Any]]
) -> None:
    connection.execute(TASK_ROWS.delete().where(TASK_ROWS.c.run == run_id))
    values = [
        {
            "run": run_id,
            "task": row["task"],
            "attempt": row["attempt"],
            "measured": {k: v for k, v in row.items() if k not in ("task", "attempt")},
        }
        for row in task_rows
    ]
    connection.execute(insert(TASK_ROWS), values)
