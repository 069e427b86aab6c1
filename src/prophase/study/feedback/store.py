"""Reported jobs in a database of their own: each once, on the disk before it is confirmed."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from prophase.errors import StorageError, storage_error
from prophase.json_types import JsonMapping, JsonObject
from prophase.trace.workspace_paths import REPORTED

#: taken: new. known: reported before, just so. differs: reported before with other values,
#: and the first report counts
Outcome = Literal["taken", "known", "differs"]
#: reports that are written together at most
_MOST_TOGETHER = 2_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS feedback (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL UNIQUE,
    job TEXT NOT NULL,
    reported_by TEXT NOT NULL,
    reported_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
)
"""


@dataclass(frozen=True)
class _Order:
    """Reports of one request, and who waits for them."""

    jobs: Sequence[JsonMapping]
    who: str
    done: Future[list[Outcome]] = field(default_factory=Future)


class FeedbackStore:
    """Keeps reported jobs in ``service/feedback.sqlite``.

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
        self.path = Path(folder) / REPORTED
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._count = self._counted()

    @property
    def count(self) -> int:
        """How many jobs were reported."""
        return self._count

    def add(self, jobs: Sequence[JsonMapping], who: str) -> list[Outcome]:
        """Keep reported jobs; returns when they are on the disk."""
        return self.order(jobs, who).result()

    def order(self, jobs: Sequence[JsonMapping], who: str) -> Future[list[Outcome]]:
        """Have reported jobs kept; the future ends when they are on the disk."""
        order = _Order(jobs, who)
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write, daemon=True)
                self._thread.start()
            self._orders.put(order)
        return order.done

    def since(self, number: int) -> list[tuple[int, JsonObject]]:
        """Return reported jobs after a number, with their numbers."""
        if not self.path.is_file():
            return []
        asked = "SELECT number, job FROM feedback WHERE number > ? ORDER BY number"
        return [(row, json.loads(job)) for row, job in self._found(asked, number)]

    def close(self) -> None:
        """Write what is waiting, then stop."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._orders.put(None)
        if thread is not None:
            thread.join()

    def _counted(self) -> int:
        if not self.path.is_file():
            return 0
        ((found,),) = self._found("SELECT count(*) FROM feedback")
        return int(found)

    def _found(self, asked: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            base = self._open()
            try:
                return base.execute(asked, values).fetchall()
            finally:
                base.close()
        except (sqlite3.Error, OSError) as cause:
            raise self._refused(cause) from cause

    def _write(self) -> None:
        """Take orders until told to stop; a disk that refuses spoils only the orders at hand."""
        base: sqlite3.Connection | None = None
        last = False
        while not last:
            orders, last = self._waiting()
            if not orders:
                continue
            try:
                base = base or self._open()
                told = _written(base, orders)
            except (sqlite3.Error, OSError) as cause:
                if base is not None:
                    base.close()
                    base = None
                for order in orders:
                    order.done.set_exception(self._refused(cause))
                continue
            self._count += sum(one == "taken" for outcomes in told for one in outcomes)
            for order, outcomes in zip(orders, told, strict=True):
                order.done.set_result(outcomes)
        if base is not None:
            base.close()

    def _waiting(self) -> tuple[list[_Order], bool]:
        """Return all orders that wait, at least one, and whether to stop after them."""
        orders: list[_Order] = []
        wanted = self._orders.get()
        jobs = 0
        while wanted is not None:
            # who has given up waiting was not told that its jobs are kept, and reports them again
            if wanted.done.set_running_or_notify_cancel():
                orders.append(wanted)
                jobs += len(wanted.jobs)
            if jobs >= _MOST_TOGETHER or self._orders.empty():
                return orders, False
            wanted = self._orders.get()
        return orders, True

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        base = sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
        base.execute("PRAGMA journal_mode=WAL")
        # FULL: a commit has reached the disk when it returns, even if the power fails then
        base.execute("PRAGMA synchronous=FULL")
        base.execute(_SCHEMA)
        return base

    def _refused(self, cause: Exception) -> StorageError:
        if isinstance(cause, OSError):
            return storage_error(cause, self.path)
        if "full" in str(cause):
            words = "no space left on the device. Free some space, then report the job again"
        else:
            words = f"the reported jobs cannot be kept: {cause}"
        return StorageError(f"{self.path}: {words}.")


def _written(base: sqlite3.Connection, orders: Sequence[_Order]) -> list[list[Outcome]]:
    """Write the jobs of several orders in one transaction."""
    told: list[list[Outcome]] = []
    base.execute("BEGIN IMMEDIATE")
    try:
        for order in orders:
            told.append([_put(base, job, order.who) for job in order.jobs])
        base.execute("COMMIT")
    except BaseException:
        if base.in_transaction:
            base.execute("ROLLBACK")
        raise
    return told


def _put(base: sqlite3.Connection, job: JsonMapping, who: str) -> Outcome:
    text = json.dumps(job, sort_keys=True, allow_nan=False)
    put = base.execute(
        "INSERT INTO feedback (job_id, job, reported_by) VALUES (?, ?, ?) "
        "ON CONFLICT (job_id) DO NOTHING",
        (job["job_id"], text, who),
    )
    if put.rowcount:
        return "taken"
    (held,) = base.execute("SELECT job FROM feedback WHERE job_id = ?", (job["job_id"],)).fetchone()
    return "known" if held == text else "differs"
