"""Runs, leases and moves as values, how they are rows of tables, and how they are queried."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import ColumnElement, Float, Row, Select, func, literal, select

from prophase.errors import ParameterError, RefusedError
from prophase.json_types import JsonObject
from prophase.runs.run_filter import EVERY_RUN, RunFilter
from prophase.runs.states import RunState
from prophase.runs.store.database import Database
from prophase.runs.store.tables import CLAIMS, HISTORY, RUNS, TASK_ROWS


@dataclass(frozen=True)
class NewRun:
    """One scenario at one date, to be registered."""

    scenario: str
    attributes: Mapping[str, object]
    version: str
    execution_date: date


@dataclass(frozen=True)
class Run:
    """A row of the table, as it was when it was read."""

    id: int
    scenario: str
    attributes: dict[str, object]
    version: str
    execution_date: date
    state: RunState
    dag_id: str | None
    run_id: str | None
    profiling_id: str | None
    notes: str | None
    beginnings: int
    resets: int
    #: since when it has been in its state
    changed_at_s: float


@dataclass(frozen=True)
class Claim:
    """The right of one worker to move one run, until the lease ends."""

    run: Run
    worker: str
    token: int


@dataclass(frozen=True)
class Move:
    """One line of a run's history."""

    time_s: float
    from_state: RunState | None
    to_state: RunState
    event: str
    actor: str
    reason: str | None


class LostClaimError(RefusedError):
    """The lease ended and somebody else may have the run now."""


def as_row(run: NewRun) -> JsonObject:
    """Return the row of a run that is registered."""
    return {
        "scenario": run.scenario,
        "scenario_attributes": dict(run.attributes),
        "scenario_version": run.version,
        "execution_date": run.execution_date,
        "state": int(RunState.REGISTERED),
    }


#: under which names the columns of a run are fetched, where they differ
_CALLED = {"scenario_attributes": "attributes", "scenario_version": "version"}
_OF_CLAIM = ("beginnings", "resets", "changed_at_s")


def run_of(row: Row[Any]) -> Run:
    """Return the run that a row of both tables describes."""
    held = dict(row._mapping)
    del held["token"]
    return Run(**{**held, "state": RunState(row.state)})


class RunQueries:
    """What is in the tables of a database, which must be up to date."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def counts(self) -> dict[RunState, int]:
        """Return how many runs are in each state that has any."""
        asked = select(RUNS.c.state, func.count()).group_by(RUNS.c.state).order_by(RUNS.c.state)
        rows = self.database.read(lambda connection: connection.execute(asked).all())
        return {RunState(state): number for state, number in rows}

    def runs(
        self,
        *,
        states: Sequence[RunState] = (),
        where: RunFilter = EVERY_RUN,
        after: int = 0,
        most: int | None = None,
    ) -> list[Run]:
        """Return runs by id, all or those in some states, beginning behind ``after``."""
        asked = joined().where(RUNS.c.id > after).order_by(RUNS.c.id).limit(most)
        if states:
            asked = asked.where(RUNS.c.state.in_([int(state) for state in states]))
        asked = asked.where(*_conditions(where))
        if where.task is not None:
            with_task = select(TASK_ROWS.c.run).where(TASK_ROWS.c.task == where.task)
            asked = asked.where(RUNS.c.id.in_(with_task))
        rows = self.database.read(lambda connection: connection.execute(asked).all())
        return [run_of(row) for row in rows]

    def run(self, run_id: int) -> Run:
        """Return one run."""
        asked = joined().where(RUNS.c.id == run_id)
        row = self.database.read(lambda connection: connection.execute(asked).first())
        if row is None:
            raise ParameterError(f"There is no run {run_id}. See them with: prophase runs status")
        return run_of(row)

    def find(self, dag_id: str, run_id: str) -> Run | None:
        """Return the run that an executor knows by these ids."""
        asked = joined().where(RUNS.c.dag_id == dag_id, RUNS.c.run_id == run_id)
        row = self.database.read(lambda connection: connection.execute(asked).first())
        return None if row is None else run_of(row)

    def history(self, run_id: int) -> list[Move]:
        """Return all that ever happened to a run, oldest first."""
        asked = select(HISTORY).where(HISTORY.c.run == run_id).order_by(HISTORY.c.id)
        rows = self.database.read(lambda connection: connection.execute(asked).all())
        return [
            Move(
                row.time_s,
                None if row.from_state is None else RunState(row.from_state),
                RunState(row.to_state),
                row.event,
                row.actor,
                row.reason,
            )
            for row in rows
        ]

    def task_rows(
        self, run_id: int | None = None, *, where: RunFilter = EVERY_RUN
    ) -> list[tuple[int, JsonObject]]:
        """Return (run, values) of every attempt at a task of all runs, some, or one."""
        asked = (
            select(TASK_ROWS)
            .join_from(TASK_ROWS, RUNS, TASK_ROWS.c.run == RUNS.c.id)
            .order_by(TASK_ROWS.c.run, TASK_ROWS.c.task, TASK_ROWS.c.attempt)
            .where(*_conditions(where))
        )
        if run_id is not None:
            asked = asked.where(TASK_ROWS.c.run == run_id)
        if where.task is not None:
            asked = asked.where(TASK_ROWS.c.task == where.task)
        rows = self.database.read(lambda connection: connection.execute(asked).all())
        return [
            (row.run, {"task": row.task, "attempt": row.attempt, **row.measured}) for row in rows
        ]

    @property
    def _now(self) -> ColumnElement[float]:
        """The clock all workers share: the server's, or this machine's for a file on it."""
        if self.database.is_postgres:
            return func.extract("epoch", func.clock_timestamp()).cast(Float(53))
        return literal(time.time())


def joined() -> Select[Any]:
    """Select runs with what is kept beside them."""
    wanted: list[ColumnElement[Any]] = [
        column.label(_CALLED.get(column.name, column.name)) for column in RUNS.c
    ]
    wanted += [CLAIMS.c[name] for name in ("token", *_OF_CLAIM)]
    return select(*wanted).join_from(RUNS, CLAIMS, CLAIMS.c.run == RUNS.c.id)


def _conditions(where: RunFilter) -> list[ColumnElement[bool]]:
    """Return what a filter asks of the table of runs."""
    found: list[ColumnElement[bool]] = []
    if where.scenario is not None:
        if "*" in where.scenario:
            parts = where.scenario.split("*")
            plain = [
                one.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_") for one in parts
            ]
            found.append(RUNS.c.scenario.like("%".join(plain), escape="\\"))
        else:
            found.append(RUNS.c.scenario == where.scenario)
    if where.since is not None:
        found.append(RUNS.c.execution_date >= where.since)
    if where.until is not None:
        found.append(RUNS.c.execution_date <= where.until)
    if where.states:
        found.append(RUNS.c.state.in_([int(state) for state in where.states]))
    return found
