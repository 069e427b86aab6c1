"""Background tasks as rows of the service's database: a queue that replicas share."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from prophase.json_types import JsonMapping, JsonObject
from prophase.serve.background.task_kinds import WRITING
from prophase.trace.service_database import ServiceDatabase, has_service_database

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping, Update

State = Literal["waiting", "running", "done", "failed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
#: states that nothing follows
ENDED = ("done", "failed", "cancelled")
#: finished tasks that are kept
_KEPT = 200
#: a task whose process has not said for so long that it goes on is taken over
LEASE_S = 15.0
#: times that a task is begun at most
_MOST_TRIES = 3
_CLAIM_LOCK = 7_041_117


@dataclass(frozen=True)
class BackgroundTask:
    """Where a piece of long work is."""

    id: str
    kind: str
    arguments: JsonMapping
    started_by: str
    state: State
    asked_at: str
    step: str = ""
    percent: float | None = None
    ended_at: str | None = None
    error: str | None = None
    #: class of the error; None if the process ended without saying one
    code: str | None = None
    result: Any = None

    @property
    def ended(self) -> bool:
        """Say whether nothing more will happen."""
        return self.state in ENDED

    def to_dict(self, *, whole: bool = True) -> JsonObject:
        """Return the task for JSON; without its result if not ``whole``."""
        told = asdict(self)
        if not whole:
            del told["result"]
        return told


class TaskRows:
    """The rows of one queue.

    A task that runs has a worker and a lease; who has not got the lease changes nothing.
    """

    def __init__(self, workspace: Path, queue: str) -> None:
        self._workspace, self._queue = workspace, queue
        self._opening = threading.Lock()
        self._base: ServiceDatabase | None = None

    @property
    def exist(self) -> bool:
        """Say whether there may be any."""
        return self._base is not None or has_service_database(self._workspace)

    def add(self, task: BackgroundTask, place: str | None) -> None:
        """Add a task; the oldest that have ended are forgotten."""
        from sqlalchemy import delete, select

        from prophase.trace.service_tables import TASKS, put_if_new

        row = {
            **{name: value for name, value in asdict(task).items() if name != "code"},
            "queue": self._queue, "arguments": json.dumps(dict(task.arguments)),
            "result": None if task.result is None else json.dumps(task.result),
            "place": place, "worker": None, "leased_until_s": 0.0, "tries": 0,
        }  # fmt: skip

        def write(connection: Connection) -> None:
            put_if_new(connection, TASKS, row)
            old = (
                select(TASKS.c.id)
                .where(TASKS.c.queue == self._queue, TASKS.c.state.in_(ENDED))
                .order_by(TASKS.c.asked_at.desc())
                .offset(_KEPT)
            )
            found = list(connection.execute(old).scalars())
            if found:
                connection.execute(delete(TASKS).where(TASKS.c.id.in_(found)))

        self._opened().write(write)

    def one(self, id: str) -> BackgroundTask | None:
        """Return a task with its result."""
        from sqlalchemy import select

        from prophase.trace.service_tables import TASKS

        if not self.exist:
            return None
        asked = select(TASKS).where(TASKS.c.id == id, TASKS.c.queue == self._queue)
        row = self._opened().read(lambda connection: connection.execute(asked).mappings().first())
        return None if row is None else _task(row)

    def all(self) -> list[BackgroundTask]:
        """Return all tasks without their results, the latest first."""
        from sqlalchemy import select

        from prophase.trace.service_tables import TASKS

        if not self.exist:
            return []
        columns = [column for column in TASKS.c if column.name != "result"]
        asked = select(*columns).where(TASKS.c.queue == self._queue)
        asked = asked.order_by(TASKS.c.asked_at.desc(), TASKS.c.id)
        rows = self._opened().read(lambda connection: connection.execute(asked).mappings().all())
        return [_task(row) for row in rows]

    def count(self, state: str) -> int:
        """Return how many are in a state."""
        from sqlalchemy import func, select

        from prophase.trace.service_tables import TASKS

        if not self.exist:
            return 0
        asked = select(func.count()).where(TASKS.c.queue == self._queue, TASKS.c.state == state)
        return int(self._opened().read(lambda connection: connection.execute(asked).scalar_one()))

    def claim(self, worker: str) -> BackgroundTask | None:
        """Take the oldest task that waits and that this worker can do; None if there is none.

        Of those that change the workspace, one runs at a time, whichever replica has it.
        """
        from sqlalchemy import or_, select, update

        from prophase.trace.service_tables import TASKS

        base = self._opened()
        taken: list[str] = []

        def write(connection: Connection) -> RowMapping | None:
            base.lock(connection, _CLAIM_LOCK)
            mine = (TASKS.c.id.in_(taken), TASKS.c.state == "running", TASKS.c.worker == worker)
            row = (
                connection.execute(select(TASKS).where(*mine)).mappings().first() if taken else None
            )
            if row is not None:
                # taken before, and the answer was lost on its way
                return row
            busy = select(TASKS.c.id).where(TASKS.c.state == "running", TASKS.c.kind.in_(WRITING))
            asked = select(TASKS).where(
                TASKS.c.queue == self._queue,
                TASKS.c.state == "waiting",
                or_(TASKS.c.place.is_(None), TASKS.c.place == worker),
            )
            if connection.execute(busy).first() is not None:
                asked = asked.where(TASKS.c.kind.not_in(WRITING))
            row = connection.execute(asked.order_by(TASKS.c.asked_at).limit(1)).mappings().first()
            if row is not None:
                taken.append(row["id"])
                change = update(TASKS).where(TASKS.c.id == row["id"])
                connection.execute(
                    change.values(
                        state="running", step="starting", worker=worker, tries=row["tries"] + 1,
                        leased_until_s=time.time() + LEASE_S,
                    )
                )  # fmt: skip
            return row

        row = base.write(write)
        return None if row is None else _task(row)

    def take_over(self) -> bool:
        """Let tasks whose worker is gone wait again; says whether any task waits."""
        from sqlalchemy import select, update

        from prophase.trace.service_tables import TASKS

        if not self.exist:
            return False
        mine = TASKS.c.queue == self._queue
        lost = (mine, TASKS.c.state == "running", TASKS.c.leased_until_s < time.time())
        again = (*lost, TASKS.c.place.is_(None), TASKS.c.tries < _MOST_TRIES)
        words = "the service was stopped before this was done. Ask again."

        def write(connection: Connection) -> None:
            connection.execute(update(TASKS).where(*again).values(state="waiting", worker=None))
            ended = {"state": "failed", "error": words, "ended_at": _now()}
            connection.execute(update(TASKS).where(*lost).values(**ended))

        base = self._opened()
        asked = select(TASKS.c.id).where(*lost)
        if base.read(lambda connection: connection.execute(asked).first()) is not None:
            base.write(write)
        waits = select(TASKS.c.id).where(mine, TASKS.c.state == "waiting")
        return base.read(lambda connection: connection.execute(waits).first()) is not None

    def renew(self, id: str, worker: str) -> bool:
        """Keep a task for longer; says whether it is still this worker's."""
        return self._write(self._own(id, worker).values(leased_until_s=time.time() + LEASE_S))

    def show(self, id: str, worker: str, step: str, percent: float | None) -> None:
        """Note how far a task is."""
        self._write(self._own(id, worker).values(step=step, percent=percent))

    def end(
        self,
        id: str,
        worker: str | None,
        state: State,
        *,
        error: str | None = None,
        code: str | None = None,
        result: str | None = None,
    ) -> bool:
        """End a task that has not ended; without a worker, whoever has it."""
        if code is not None:
            # a failed task has no result: its place holds what kind of failure it was
            result = json.dumps({"code": code})
        values: JsonObject = {
            "state": state, "ended_at": _now(), "error": error, "result": result
        }  # fmt: skip
        if state == "done":
            values["percent"] = 100.0
        return self._write(self._own(id, worker).values(**values))

    def hand_back(self, id: str, worker: str) -> None:
        """Let another take a task, or this one later; this try does not count."""
        from prophase.trace.service_tables import TASKS

        mine = self._own(id, worker).where(TASKS.c.place.is_(None))
        self._write(mine.values(state="waiting", worker=None, tries=TASKS.c.tries - 1))

    def end_those_of(self, place: str) -> None:
        """Cancel what nobody else can do."""
        from sqlalchemy import update

        from prophase.trace.service_tables import TASKS

        if self.exist:
            mine = update(TASKS).where(TASKS.c.place == place, TASKS.c.state.not_in(ENDED))
            self._write(mine.values(state="cancelled", ended_at=_now()))

    def close(self) -> None:
        """Give back connections."""
        with self._opening:
            base, self._base = self._base, None
        if base is not None:
            base.close()

    def _own(self, id: str, worker: str | None) -> Update:
        from sqlalchemy import update

        from prophase.trace.service_tables import TASKS

        change = update(TASKS).where(TASKS.c.id == id, TASKS.c.state.not_in(ENDED))
        return change if worker is None else change.where(TASKS.c.worker == worker)

    def _write(self, change: Update) -> bool:
        def write(connection: Connection) -> bool:
            return connection.execute(change).rowcount > 0

        return self._opened().write(write)

    def _opened(self) -> ServiceDatabase:
        with self._opening:
            if self._base is None:
                self._base = ServiceDatabase.of(self._workspace)
            return self._base


def _task(row: RowMapping) -> BackgroundTask:
    names = BackgroundTask.__dataclass_fields__
    held: JsonObject = {name: value for name, value in row.items() if name in names}
    held["arguments"] = json.loads(row["arguments"])
    held["result"] = json.loads(row["result"]) if row.get("result") else None
    if held["state"] == "failed" and held["result"] is not None:
        held["code"], held["result"] = held["result"].get("code"), None
    return BackgroundTask(**held)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
