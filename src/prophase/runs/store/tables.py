"""The tables of a campaign. ``runs`` has the fields of the thesis' Table 1 and no others."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    Date,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

RUNS = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    # the scenario: its name, its attributes, and the job code it is wrapped with
    Column("scenario", String(200), nullable=False),
    Column("scenario_attributes", JSON, nullable=False),
    Column("scenario_version", String(64), nullable=False),
    Column("execution_date", Date, nullable=False),
    Column("state", Integer, nullable=False, default=0),
    Column("dag_id", String(300)),
    Column("run_id", String(300)),
    Column("profiling_id", String(300)),
    Column("notes", Text),
    UniqueConstraint("scenario", "execution_date", "scenario_version", name="one_run_each"),
    Index("runs_by_state", "state", "id"),
)

#: who works on a run, until when; ``token`` grows with every claim, so that a worker that lost
#: its claim while it was frozen cannot write any more
CLAIMS = Table(
    "claims",
    metadata,
    Column("run", Integer, ForeignKey("runs.id"), primary_key=True, autoincrement=False),
    Column("worker", String(200)),
    Column("token", Integer, nullable=False, default=0),
    Column("leased_until_s", Float(53), nullable=False, default=0.0),
    Column("looked_at_s", Float(53), nullable=False, default=0.0),
    Column("changed_at_s", Float(53), nullable=False, default=0.0),
    #: how often the run was started from nothing, and how often it was reset at all
    Column("beginnings", Integer, nullable=False, default=0),
    Column("resets", Integer, nullable=False, default=0),
)

HISTORY = Table(
    "history",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("run", Integer, ForeignKey("runs.id"), nullable=False),
    Column("time_s", Float(53), nullable=False),
    Column("from_state", Integer),
    Column("to_state", Integer, nullable=False),
    Column("event", String(40), nullable=False),
    Column("actor", String(200), nullable=False),
    Column("reason", Text),
    #: claim under which it happened: the same move cannot be written twice
    Column("token", Integer),
    UniqueConstraint("run", "token", name="one_move_per_claim"),
)

SETTINGS = Table(
    "settings",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("value", Text, nullable=False),
    Column("changed_at_s", Float(53), nullable=False),
    Column("changed_by", String(200), nullable=False),
)

#: pipeline and job code, as they were when runs were registered
VERSIONS = Table(
    "versions",
    metadata,
    Column("version", String(64), primary_key=True),
    Column("pipeline", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("made_at_s", Float(53), nullable=False),
)

WORKERS = Table(
    "workers",
    metadata,
    Column("worker", String(200), primary_key=True),
    Column("started_at_s", Float(53), nullable=False),
    Column("seen_at_s", Float(53), nullable=False),
)

#: one row per attempt at a task, of runs that finished or failed
TASK_ROWS = Table(
    "task_rows",
    metadata,
    Column("run", Integer, ForeignKey("runs.id"), primary_key=True, autoincrement=False),
    Column("task", String(200), primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("measured", JSON, nullable=False),
)
