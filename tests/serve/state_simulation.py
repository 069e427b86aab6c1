"""Deterministic simulation of what a service keeps: three replicas, one database, one seed.

    python -m tests.serve.state_simulation [SCHEDULES] [SEED]

Replicas take, renew, finish, hand back and cancel background tasks, are reported jobs, count the
attempts of pods, and make and revoke tokens; they die, their clock jumps, and answers of the
database are lost. The real code does it; a plain model says what has to come of each step.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from sqlalchemy import select
from tests.schedules import Lossy, Simulated, try_schedules

from prophase.errors import ParameterError
from prophase.serve.background import task_rows
from prophase.serve.background.task_kinds import WRITING
from prophase.serve.background.task_rows import ENDED, LEASE_S, BackgroundTask, State, TaskRows
from prophase.serve.submit import pods
from prophase.serve.submit.pods import PodAttempts
from prophase.serve.tokens import TokenStore
from prophase.study.feedback.store import FeedbackStore, Outcome, _Order
from prophase.trace.service_database import ServiceDatabase
from prophase.trace.service_tables import ATTEMPTS, FEEDBACK, TASKS, TOKENS
from prophase.trace.workspace_paths import REPORTED

REPLICAS = 3
ACTIONS = (
    "ask", "ask", "claim", "claim", "claim", "take over", "take over", "renew", "finish", "finish",
    "cancel", "hand back", "crash", "stop", "tick", "tick", "jump", "report", "report", "pod",
    "pod", "token", "token", "lose answer", "lose question",
)  # fmt: skip
_KINDS = ("simulate", "learn", "import")
_MOST_TRIES = 3
_TASKS = select(
    TASKS.c.id, TASKS.c.state, TASKS.c.worker, TASKS.c.leased_until_s, TASKS.c.tries
).order_by(TASKS.c.id)
_REPORTS = select(FEEDBACK.c.job_id, FEEDBACK.c.job).order_by(FEEDBACK.c.number)
_PODS = select(ATTEMPTS.c.owner, ATTEMPTS.c.seen)
_NAMES = select(TOKENS.c.name).order_by(TOKENS.c.number)


class LossyService(Lossy, ServiceDatabase):
    """The database of a service, on a connection that breaks; what is in memory stays open."""

    def close(self) -> None:
        """Keep the tables: a store closes its connections whenever it has read a list."""


class SharedTokens(TokenStore):
    """Tokens whose list may have changed at any time."""

    def _file_stamps(self) -> Hashable:
        return object()


@dataclass
class Modelled:
    """What the model knows of a task."""

    kind: str
    place: str | None
    state: State = "waiting"
    worker: str | None = None
    until_s: float = 0.0
    tries: int = 0


class Replica:
    """What one process of the service has in memory."""

    def __init__(self, name: str, folder: Path, base: LossyService) -> None:
        self.name = name
        self.rows = TaskRows(folder, "tasks")
        # one that finds a file counts what is in it first
        self.reports = FeedbackStore(folder / "new")
        self.tokens, self.pods = SharedTokens(folder), PodAttempts(base)
        for store in (self.rows, self.reports, self.tokens):
            store._base = base
        #: tasks that it believes to compute
        self.tasks: list[str] = []


class ServiceSimulation(Simulated):
    """A service's state and its model."""

    actions = ACTIONS

    def __init__(self) -> None:
        base = LossyService("sqlite://", patience_s=1.0)
        base._prepare()
        super().__init__(base, (TASKS, FEEDBACK, ATTEMPTS, TOKENS))
        self.base = base
        self._scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self._scratch.name)
        (self.folder / REPORTED).parent.mkdir()
        (self.folder / REPORTED).touch()
        self._looks = [self.sql(one) for one in (_TASKS, _REPORTS, _PODS, _NAMES)]
        clock = SimpleNamespace(time=lambda: self.now_s)
        self._clocks = [mock.patch.object(module, "time", clock) for module in (task_rows, pods)]
        for one in self._clocks:
            one.start()

    def close(self) -> None:
        for one in self._clocks:
            one.stop()
        super(LossyService, self.base).close()
        self._scratch.cleanup()

    def begin(self) -> None:
        self.numbers = itertools.count()
        self.replicas = [self._replica() for _ in range(REPLICAS)]
        self.tasks: dict[str, Modelled] = {}
        self.reports: dict[str, str] = {}
        self.owners: dict[str, list[str]] = {}
        self.names: list[str] = []

    def _replica(self) -> Replica:
        return Replica(f"r{next(self.numbers)}", self.folder, self.base)

    def _tick(self, first: int, second: int) -> None:
        self.now_s += (0.5, 5.0, LEASE_S - 0.5, LEASE_S + 0.5)[first % 4]

    # background tasks

    def _ask(self, first: int, second: int) -> None:
        if len(self.tasks) >= 8:
            return
        kind, number = _KINDS[first % len(_KINDS)], next(self.numbers)
        # an upload can be imported only where it is
        place = self.replicas[second % REPLICAS].name if kind == "import" else None
        task = BackgroundTask(f"t{number:03}", kind, {}, "ann", "waiting", f"{number:06}")
        self.replicas[first % REPLICAS].rows.add(task, place)
        self.tasks[task.id] = Modelled(kind, place)

    def _claim(self, first: int, second: int) -> None:
        replica = self.replicas[first % REPLICAS]
        found = replica.rows.claim(replica.name)
        writes = any(one.state == "running" and one.kind in WRITING for one in self.tasks.values())
        free = [
            (name, one)
            for name, one in sorted(self.tasks.items())
            if one.state == "waiting"
            and one.place in (None, replica.name)
            and not (writes and one.kind in WRITING)
        ]
        self.expect(found and found.id, free[0][0] if free else None, f"{replica.name} claims")
        if found is not None:
            one = self.tasks[found.id]
            one.state, one.worker, one.tries = "running", replica.name, one.tries + 1
            one.until_s = self.now_s + LEASE_S
            replica.tasks.append(found.id)

    def _take_over(self, first: int, second: int) -> None:
        waits = self.replicas[first % REPLICAS].rows.take_over()
        for one in self.tasks.values():
            if one.state == "running" and one.until_s < self.now_s:
                if one.place is None and one.tries < _MOST_TRIES:
                    one.state, one.worker = "waiting", None
                else:
                    one.state = "failed"
        expected = any(one.state == "waiting" for one in self.tasks.values())
        self.expect(waits, expected, "something waits")

    def _renew(self, first: int, second: int) -> None:
        held = self._held(first, second)
        if held is None:
            return
        replica, task, mine = held
        self.expect(replica.rows.renew(task, replica.name), mine, f"{replica.name} renews {task}")
        if mine:
            self.tasks[task].until_s = self.now_s + LEASE_S
        else:
            # its process is ended
            replica.tasks.remove(task)

    def _finish(self, first: int, second: int) -> None:
        held = self._held(first, second)
        if held is None:
            return
        replica, task, mine = held
        state: State = "done" if second % 3 else "failed"
        replica.rows.end(task, replica.name, state, result='{"of": 1}')
        replica.tasks.remove(task)
        if mine:
            self.tasks[task].state = state

    def _cancel(self, first: int, second: int) -> None:
        if not self.tasks:
            return
        task = sorted(self.tasks)[second % len(self.tasks)]
        self.replicas[first % REPLICAS].rows.end(task, None, "cancelled")
        if self.tasks[task].state not in ENDED:
            self.tasks[task].state = "cancelled"

    def _hand_back(self, first: int, second: int) -> None:
        held = self._held(first, second)
        if held is None:
            return
        replica, task, mine = held
        replica.rows.hand_back(task, replica.name)
        replica.tasks.remove(task)
        one = self.tasks[task]
        if mine and one.place is None:
            one.state, one.worker, one.tries = "waiting", None, one.tries - 1

    def _held(self, first: int, second: int) -> tuple[Replica, str, bool] | None:
        """Return a task that a replica believes to compute, and whether it does."""
        replica = self.replicas[first % REPLICAS]
        if not replica.tasks:
            return None
        task = replica.tasks[second % len(replica.tasks)]
        one = self.tasks[task]
        return replica, task, one.worker == replica.name and one.state not in ENDED

    def _crash(self, first: int, second: int) -> None:
        """A replica is killed, and another one with a new name begins."""
        self.replicas[first % REPLICAS] = self._replica()

    def _stop(self, first: int, second: int) -> None:
        """A replica is told to stop: it hands back what it computes."""
        replica = self.replicas[first % REPLICAS]
        while replica.tasks:
            self._hand_back(first, 0)
        replica.rows.end_those_of(replica.name)
        for one in self.tasks.values():
            if one.place == replica.name and one.state not in ENDED:
                one.state = "cancelled"
        self.replicas[first % REPLICAS] = self._replica()

    # reports, pods, tokens

    def _report(self, first: int, second: int) -> None:
        """Two requests are written together; the second caller may have given up waiting."""
        jobs = [[(first, second)], [(second, first), (first, first)]]
        orders = [
            _Order([{"job_id": f"j{a % 5}", "duration_s": b % 2} for a, b in one], "ann")
            for one in jobs
        ]
        if second % 4 == 0:
            orders[1].done.cancel()
        lost = self.database.losing == "answer"
        self.replicas[first % REPLICAS].reports._write(orders)
        for order in orders:
            if order.done.cancelled():
                continue
            expected = [self._modelled_report(dict(job)) for job in order.jobs]
            if lost:
                # who asks again finds its own report
                expected = ["known" if one == "taken" else one for one in expected]
            self.expect(order.done.result(), expected, "reports")

    def _modelled_report(self, job: dict[str, object]) -> Outcome:
        name, text = str(job["job_id"]), json.dumps(job, sort_keys=True)
        if name not in self.reports:
            self.reports[name] = text
            return "taken"
        return "known" if self.reports[name] == text else "differs"

    def _pod(self, first: int, second: int) -> None:
        """A pod is admitted, and perhaps asked about again."""
        owner, request = f"o{first % 3}", f"q{second % 6}"
        pod = {"metadata": {"ownerReferences": [{"uid": owner, "controller": True}]}}
        found = self.replicas[first % REPLICAS].pods.of(pod, request)
        seen = self.owners.setdefault(owner, [])
        if request not in seen:
            seen.append(request)
        self.expect(found, seen.index(request) + 1, f"attempt of {owner} {request}")

    def _token(self, first: int, second: int) -> None:
        """A token is made or revoked at one replica, and counts at another."""
        tokens, other = (self.replicas[(first + n) % REPLICAS].tokens for n in range(2))
        name = f"n{second % 3}"
        if second % 2:
            self.expect(tokens.revoke(name), name in self.names, f"revoked {name}")
            self.names = [one for one in self.names if one != name]
        else:
            try:
                secret = tokens.add(name, "read")
            except ParameterError:
                self.expect(name in self.names, True, f"{name} is refused")
                return
            self.expect(name in self.names, False, f"{name} is made")
            self.names.append(name)
            found = other.find(secret)
            self.expect(found and found.name, name, "the secret that was shown")

    def compare(self) -> None:
        with self.driver() as connection:
            tasks, reports, owners, names = (
                connection.execute(one).fetchall() for one in self._looks
            )
        self.expect(
            tasks,
            [
                (name, one.state, one.worker, one.until_s, one.tries)
                for name, one in sorted(self.tasks.items())
            ],
            "tasks",
        )
        self.expect(dict(reports), self.reports, "reports")
        self.expect({owner: json.loads(seen) for owner, seen in owners}, self.owners, "pods")
        self.expect([name for (name,) in names], self.names, "tokens")
        writing = [
            one for one in self.tasks.values() if one.state == "running" and one.kind in WRITING
        ]
        self.expect(len(writing) <= 1, True, "one task changes the workspace at a time")


if __name__ == "__main__":
    try_schedules(ServiceSimulation(), sys.argv[1:])
