"""Reported jobs in the service's database: each once, on the disk before it is confirmed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from prophase.errors import DatabaseError, StorageError
from prophase.json_types import JsonMapping, JsonObject
from prophase.trace.service_database import ServiceDatabase, has_service_database
from prophase.trace.workspace_paths import REPORTED
from prophase.write_queue import WriteQueue

if TYPE_CHECKING:
    from sqlalchemy import Connection

T = TypeVar("T")
#: taken: new. known: reported before, just so. differs: reported before with other values,
#: and the first report counts
Outcome = Literal["taken", "known", "differs"]
#: requests whose reports are written together at most
_MOST_TOGETHER = 500
#: numbers become visible in their order, so that nobody who learns passes over a report
_ORDER_LOCK = 7_041_115


@dataclass(frozen=True)
class _Order:
    """Reports of one request, and who waits for them."""

    jobs: Sequence[JsonMapping]
    who: str
    done: Future[list[Outcome]] = field(default_factory=Future)


class FeedbackStore:
    """Keeps reported jobs in ``service/feedback.sqlite``, or where replicas share them.

    One thread writes; reports that come in meanwhile are written together, so that many small
    requests share one wait for the disk. A report is confirmed after that wait and not before.

    Parameters
    ----------
    folder : path
        The workspace.

    Examples
    --------
    >>> store = FeedbackStore(getfixture("tmp_path"))
    >>> job = {"job_id": "17", "duration_s": 60.0}
    >>> [store.add([one], "ci") for one in (job, job, {**job, "duration_s": 9.0})]
    [['taken'], ['known'], ['differs']]
    >>> store.since(0)
    [(1, {'duration_s': 60.0, 'job_id': '17'})]
    >>> store.close()
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self._orders = WriteQueue[_Order](self._write, name="feedback", most=_MOST_TOGETHER)
        self._opening = threading.Lock()
        self._base: ServiceDatabase | None = None
        self._count = 0
        if has_service_database(folder):
            self._count = self._kept(lambda base: base.read(_counted))

    @property
    def count(self) -> int:
        """How many jobs were reported, here and to other replicas as far as it is known."""
        return self._count

    def add(self, jobs: Sequence[JsonMapping], who: str) -> list[Outcome]:
        """Keep reported jobs; returns when they are on the disk."""
        return self.order(jobs, who).result()

    def order(self, jobs: Sequence[JsonMapping], who: str) -> Future[list[Outcome]]:
        """Have reported jobs kept; the future ends when they are on the disk."""
        order = _Order(jobs, who)
        self._orders.put(order)
        return order.done

    def since(self, number: int) -> list[tuple[int, JsonObject]]:
        """Return reported jobs after a number, with their numbers."""
        if self._base is None and not has_service_database(self.folder):
            return []

        def read(base: ServiceDatabase, connection: Connection) -> list[tuple[int, str]]:
            from sqlalchemy import select

            from prophase.trace.service_tables import FEEDBACK

            asked = select(FEEDBACK.c.number, FEEDBACK.c.job).where(FEEDBACK.c.number > number)
            found = connection.execute(asked.order_by(FEEDBACK.c.number)).all()
            if found and base.is_postgres:
                self._count = _counted(connection)
            return [(row, job) for row, job in found]

        rows = self._kept(lambda base: base.read(lambda connection: read(base, connection)))
        return [(row, json.loads(job)) for row, job in rows]

    def close(self) -> None:
        """Write what is waiting, then stop."""
        self._orders.close()
        with self._opening:
            base, self._base = self._base, None
        if base is not None:
            base.close()

    def _write(self, waiting: list[_Order]) -> None:
        """Write what waits; a disk that refuses spoils only the orders at hand."""
        # who has given up waiting was not told that its jobs are kept, and reports them again
        orders = [one for one in waiting if one.done.set_running_or_notify_cancel()]
        if not orders:
            return
        try:
            told = self._kept(
                lambda base: base.write(lambda connection: _written(base, connection, orders))
            )
        except Exception as cause:
            for order in orders:
                order.done.set_exception(cause)
            return
        # replicas count anew when they learn, as others are reported to as well
        if self._base is not None and not self._base.is_postgres:
            self._count += sum(one == "taken" for outcomes in told for one in outcomes)
        for order, outcomes in zip(orders, told, strict=True):
            order.done.set_result(outcomes)

    def _kept(self, work: Callable[[ServiceDatabase], T]) -> T:
        """Do something with the database, opened at its first use."""
        try:
            with self._opening:
                if self._base is None:
                    self._base = ServiceDatabase.of(self.folder, durable=True)
                base = self._base
            return work(base)
        except DatabaseError as cause:
            raise StorageError(
                f"{self.folder / REPORTED}: the reported jobs cannot be kept: {cause}"
            ) from cause


def _counted(connection: Connection) -> int:
    from sqlalchemy import func, select

    from prophase.trace.service_tables import FEEDBACK

    return int(connection.execute(select(func.count()).select_from(FEEDBACK)).scalar_one())


def _written(
    base: ServiceDatabase, connection: Connection, orders: Sequence[_Order]
) -> list[list[Outcome]]:
    """Write the jobs of several orders in one transaction."""
    base.lock(connection, _ORDER_LOCK)
    return [[_put(connection, job, order.who) for job in order.jobs] for order in orders]


def _put(connection: Connection, job: JsonMapping, who: str) -> Outcome:
    from sqlalchemy import select

    from prophase.trace.service_tables import FEEDBACK, put_if_new

    text = json.dumps(job, sort_keys=True, allow_nan=False)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    row = {"job_id": str(job["job_id"]), "job": text, "reported_by": who, "reported_at": now}
    if put_if_new(connection, FEEDBACK, row):
        return "taken"
    asked = select(FEEDBACK.c.job).where(FEEDBACK.c.job_id == row["job_id"])
    return "known" if connection.execute(asked).scalar_one() == text else "differs"
