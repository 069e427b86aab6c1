"""The table of runs: register, claim, move on, reset, look.

Every move happens in one transaction together with its line in the history. A worker moves a run
only under a claim that is still its own; a claim ends by itself when its holder goes silent.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, insert, select, update

from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.runs.states import RunState, next_state, reset_event
from prophase.runs.store.leases import LeaseQueries
from prophase.runs.store.records import Claim, LostClaimError, NewRun, as_row
from prophase.runs.store.tables import CLAIMS, HISTORY, RUNS, TASK_ROWS, VERSIONS

#: rows per statement; SQLite allows 32,766 values in one
_ROWS_AT_ONCE = 500


class RunStore(LeaseQueries):
    """The runs of a campaign."""

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
                connection.execute(insert(CLAIMS), [{"run": i, "changed_at_s": now} for i in ids])
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

    def advance(
        self,
        claim: Claim,
        event: str,
        *,
        reason: str | None = None,
        task_rows: Sequence[JsonObject] = (),
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
            state, token, worker = _locked(connection, claim.run.id)
            if (token, worker) != (claim.token, claim.worker):
                done = _moved_under(connection, claim)
                if done is not None:
                    # the answer to our commit was lost on the way, not the commit
                    return done
                raise LostClaimError(
                    f"Run {claim.run.id}: the claim of {claim.worker} ended before it could "
                    f"record {event!r}; whoever has the run now goes on with it."
                )
            moved = next_state(state, event)
            values: JsonObject = {"state": int(moved), **ids}
            values["notes"] = reason if moved.failed else None
            self._write_move(connection, claim.run.id, state, moved, event, claim, reason, values)
            if task_rows:
                _save_task_rows(connection, claim.run.id, task_rows)
            return moved

        return self.database.write(move)

    def reset(self, run_id: int, goal: RunState, *, actor: str, reason: str = "") -> RunState:
        """Set a run back, so that the branches pick it up again; return where it was.

        Back to the beginning, everything is done again. Back to a later state, what had succeeded
        stays: of an execution only the tasks that failed run again.
        """

        def back(connection: Connection) -> RunState:
            state, _, _ = _locked(connection, run_id)
            event = reset_event(goal)
            next_state(state, event)
            values: JsonObject = {"state": int(goal), "notes": None, "profiling_id": None}
            if goal is RunState.REGISTERED:
                values |= {"dag_id": None, "run_id": None}
            counts: JsonObject = {"resets": CLAIMS.c.resets + 1, "token": CLAIMS.c.token + 1}
            if goal is RunState.REGISTERED:
                counts["beginnings"] = CLAIMS.c.beginnings + 1
            self._write_move(
                connection, run_id, state, goal, event, actor, reason or None, values, counts
            )
            if goal is RunState.REGISTERED:
                # a later beginning finds the attempts so far on record, and keeps them
                connection.execute(TASK_ROWS.delete().where(TASK_ROWS.c.run == run_id))
            return state

        return self.database.write(back)

    def note(self, run_id: int, event: str, *, actor: str, reason: str) -> None:
        """Write a line of history about a run that stays where it is, and restart its clock."""

        def add(connection: Connection) -> None:
            state, _, _ = _locked(connection, run_id)
            now = self._now
            line: JsonObject = {"run": run_id, "time_s": now, "event": event, "actor": actor}
            line |= {"from_state": int(state), "to_state": int(state), "reason": reason}
            connection.execute(insert(HISTORY).values(**line))
            again = update(CLAIMS).where(CLAIMS.c.run == run_id).values(changed_at_s=now)
            connection.execute(again)

        self.database.write(add)

    def _write_move(
        self,
        connection: Connection,
        run_id: int,
        state: RunState,
        moved: RunState,
        event: str,
        by: Claim | str,
        reason: str | None,
        values: JsonObject,
        counts: JsonObject | None = None,
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
        line: JsonObject = {"run": run_id, "time_s": now}
        line |= {"from_state": int(state), "to_state": int(moved)}
        line |= {"event": event, "actor": actor, "reason": reason, "token": token}
        connection.execute(insert(HISTORY).values(**line))


def _locked(connection: Connection, run_id: int) -> tuple[RunState, int, str | None]:
    """Return state, token and worker of a run that nobody else can change meanwhile."""
    asked = (
        select(RUNS.c.state, CLAIMS.c.token, CLAIMS.c.worker)
        .join_from(RUNS, CLAIMS, CLAIMS.c.run == RUNS.c.id)
        .where(RUNS.c.id == run_id)
        .with_for_update()
    )
    row = connection.execute(asked).first()
    if row is None:
        raise ParameterError(f"There is no run {run_id}. See them with: prophase runs status")
    return RunState(row.state), row.token, row.worker


def _moved_under(connection: Connection, claim: Claim) -> RunState | None:
    """Return where this very claim has already moved its run, if it has."""
    asked = select(HISTORY.c.to_state).where(
        HISTORY.c.run == claim.run.id, HISTORY.c.token == claim.token
    )
    found = connection.execute(asked).scalar()
    return None if found is None else RunState(found)


def _save_task_rows(connection: Connection, run_id: int, task_rows: Sequence[JsonObject]) -> None:
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
