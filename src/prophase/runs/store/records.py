"""Runs, claims and moves as values, and how they are rows of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from prophase.errors import RefusedError
from prophase.runs.states import RunState


@dataclass(frozen=True)
class NewRun:
    """One scenario at one date, to be registered."""

    scenario: str
    attributes: Mapping[str, Any]
    version: str
    execution_date: date


@dataclass(frozen=True)
class Run:
    """A row of the table, as it was when it was read."""

    id: int
    scenario: str
    attributes: dict[str, Any]
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


def as_row(run: NewRun) -> dict[str, Any]:
    """Return the row of a run that is registered."""
    return {
        "scenario": run.scenario,
        "scenario_attributes": dict(run.attributes),
        "scenario_version": run.version,
        "execution_date": run.execution_date,
        "state": int(RunState.REGISTERED),
    }


def unclaimed_row(run_id: int, now: float) -> dict[str, Any]:
    """Return the row of a claim that nobody has."""
    return {
        "run": run_id,
        "token": 0,
        "leased_until_s": 0.0,
        "looked_at_s": 0.0,
        "changed_at_s": now,
        "beginnings": 0,
        "resets": 0,
    }


def run_of(row: Any) -> Run:
    """Return the run that a row of both tables describes."""
    return Run(
        id=row.id,
        scenario=row.scenario,
        attributes=dict(row.scenario_attributes),
        version=row.scenario_version,
        execution_date=row.execution_date,
        state=RunState(row.state),
        dag_id=row.dag_id,
        run_id=row.run_id,
        profiling_id=row.profiling_id,
        notes=row.notes,
        beginnings=row.beginnings,
        resets=row.resets,
        changed_at_s=row.changed_at_s,
    )


def move_of(row: Any) -> Move:
    """Return the move that a row of the history describes."""
    return Move(
        time_s=row.time_s,
        from_state=None if row.from_state is None else RunState(row.from_state),
        to_state=RunState(row.to_state),
        event=row.event,
        actor=row.actor,
        reason=row.reason,
    )
