"""The tables of a service's database; the same in SQLite and PostgreSQL."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Executable,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    case,
    func,
)
from sqlalchemy.dialects import postgresql, sqlite

metadata = MetaData()

#: finished jobs that were reported, in the order in which models learn from them
FEEDBACK = Table(
    "feedback",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("job_id", Text, nullable=False, unique=True),
    Column("job", Text, nullable=False),
    Column("reported_by", Text, nullable=False),
    Column("reported_at", Text, nullable=False),
    sqlite_autoincrement=True,
)

TOKENS = Table(
    "tokens",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("name", String(60), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("made_at", String(40), nullable=False),
    Column("expires_at", String(40)),
    #: JSON list
    Column("tenants", Text, nullable=False),
)

#: numbers that grow: version of the tables, of the tokens, and which models are in use
NUMBERS = Table(
    "numbers",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("number", Integer, nullable=False),
)

TASKS = Table(
    "tasks",
    metadata,
    Column("id", String(40), primary_key=True),
    #: tasks of people, or of pages
    Column("queue", String(20), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("arguments", Text, nullable=False),
    Column("started_by", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("asked_at", String(40), nullable=False),
    Column("step", Text, nullable=False),
    Column("percent", Float(53)),
    Column("ended_at", String(40)),
    Column("error", Text),
    Column("result", Text),
    #: the only replica that can do it, because a file that it reads is there
    Column("place", String(80)),
    #: who computes it, until when unless it says that it still does, and the how manieth time
    Column("worker", String(80)),
    Column("leased_until_s", Float(53), nullable=False),
    Column("tries", Integer, nullable=False),
    Index("tasks_by_state", "queue", "state", "asked_at"),
)

#: requests of pods that were seen of each owner
ATTEMPTS = Table(
    "attempts",
    metadata,
    Column("owner", String(200), primary_key=True),
    Column("place", String(40), primary_key=True),
    #: JSON list
    Column("seen", Text, nullable=False),
    Column("seen_at_s", Float(53), nullable=False),
)

#: requests that callers have left, as of a moment
BUCKETS = Table(
    "buckets",
    metadata,
    Column("name", String(20), primary_key=True),
    Column("caller", String(200), primary_key=True),
    Column("held", Float(53), nullable=False),
    Column("since_s", Float(53), nullable=False),
)

#: tables and models as they were published together
VERSIONS = Table(
    "model_versions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("made_at", String(40), nullable=False),
    Column("made_by", Text, nullable=False),
    #: JSON: path in the workspace -> SHA-256
    Column("files", Text, nullable=False),
    sqlite_autoincrement=True,
)

#: what the files hold, each once, in parts
CONTENTS = Table(
    "model_contents",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("bytes", LargeBinary, nullable=False),
)


def put_if_new(connection: Connection, table: Table, row: dict[str, Any]) -> bool:
    """Insert a row unless there is one with its key; says whether it was inserted."""
    kind = postgresql if connection.dialect.name == "postgresql" else sqlite
    key = next(iter(table.primary_key.columns))
    put = kind.insert(table).values(**row).on_conflict_do_nothing().returning(key)
    return connection.execute(put).first() is not None


def put_listed(
    connection: Connection, table: Table, row: dict[str, Any], column: str, text: str
) -> str:
    """Add a text to the JSON list in a column of a row, unless it is in it; returns the list.

    A row that is not there is made with a list of this text alone.
    """
    quoted = json.dumps(text)
    put = _listing(table, tuple(row), column, shared=connection.dialect.name == "postgresql")
    words = {"_quoted": quoted, "_more": f", {quoted}]", column: f"[{quoted}]"}
    return str(connection.execute(put, {**row, **words}).scalar_one())


@cache
def _listing(table: Table, given: tuple[str, ...], column: str, *, shared: bool) -> Executable:
    """Return the statement, which takes longer to build than to carry out."""
    held, keys = table.c[column], [one.name for one in table.primary_key.columns]
    found = (func.strpos if shared else func.instr)(held, bindparam("_quoted", type_=Text)) > 0
    cut = func.substr(held, 1, func.length(held) - 1)
    longer = cut.concat(bindparam("_more", type_=Text))
    put = (postgresql if shared else sqlite).insert(table)
    put = put.values({name: bindparam(name) for name in (*given, column)})
    rest = {name: put.excluded[name] for name in given if name not in keys}
    put = put.on_conflict_do_update(
        index_elements=keys, set_={**rest, column: case((found, held), else_=longer)}
    )
    made: Executable = put.returning(held)
    return made
