"""Deterministic simulation of the table of runs: one seed drives everything, a plain model judges.

    python -m tests.runs.store.simulation [SCHEDULES] [SEED]

A schedule is a list of small numbers: who does what next, how the clock jumps, which worker dies,
which answer of the database is lost on its way. The real store (SQL on SQLite in memory) carries
it out; beside it a model of a few dictionaries says what has to come of each step. A schedule that
fails is printed with its seed, and the same seed fails again.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, delete, literal, select

from prophase.errors import RefusedError
from prophase.runs.states import BRANCHES, NEXT_STATE, RESET_STATES, Branch, RunState, next_state
from prophase.runs.store.database import Database
from prophase.runs.store.records import Claim, LostClaimError, NewRun
from prophase.runs.store.run_store import RunStore
from prophase.runs.store.tables import CLAIMS, HISTORY, RUNS, TASK_ROWS, VERSIONS, WORKERS

Result = TypeVar("Result")
LEASE_S = 10.0
WORKERS_AT_ONCE = 3
#: what may happen next; the numbers of a schedule choose among these
ACTIONS = (
    "claim", "claim", "claim", "advance", "advance", "advance", "release", "renew", "crash",
    "tick", "tick", "jump", "reset", "free", "register", "lose answer", "lose question",
)  # fmt: skip
Step = tuple[int, int, int]
#: where every run stands, and who holds it
_TABLES = select(
    RUNS.c.id, RUNS.c.state, CLAIMS.c.token, CLAIMS.c.worker, CLAIMS.c.leased_until_s
).join_from(RUNS, CLAIMS, CLAIMS.c.run == RUNS.c.id)
_EMPTIED = (TASK_ROWS, HISTORY, CLAIMS, WORKERS, VERSIONS, RUNS)


class LossyDatabase(Database):
    """A database whose connection breaks when the schedule says so, before or after the commit."""

    losing = ""

    def write(
        self, work: Callable[[Connection], Result], *, patience_s: float | None = None
    ) -> Result:
        lost, self.losing = self.losing, ""
        if lost == "answer":
            # committed, and nobody heard of it: the program asks again, as after real losses
            with self.engine.begin() as connection:
                work(connection)
        if lost == "question":
            with self.engine.connect() as connection:
                transaction = connection.begin()
                work(connection)
                transaction.rollback()
        with self.engine.begin() as connection:
            return work(connection)


class ClockedStore(RunStore):
    """The real store with a clock of ours."""

    now_s = 1_000_000.0

    @property
    def _now(self) -> ColumnElement[float]:
        return literal(self.now_s)


@dataclass
class Modelled:
    """What the model knows of a run."""

    state: RunState = RunState.REGISTERED
    token: int = 0
    worker: str | None = None
    until_s: float = 0.0
    looked_s: float = 0.0
    #: token -> where the run was moved under it
    moved: dict[int, RunState] = field(default_factory=dict)
    moves: int = 1


class Violation(AssertionError):
    """The store did what the model does not allow."""


class Simulation:
    """The store and its model, side by side."""

    def __init__(self) -> None:
        self.database = LossyDatabase("sqlite://", patience_s=1.0)
        self.database.migrate()
        self.store = ClockedStore(self.database)
        # looking on takes no part in what is tried, so it need not be built anew at every step
        dialect = self.database.engine.dialect
        self._tables = str(_TABLES.compile(dialect=dialect))
        self._deletions = [str(delete(table).compile(dialect=dialect)) for table in _EMPTIED]

    def run(self, steps: Sequence[Step]) -> int:
        """Carry a schedule out from an empty table; return how many steps did something."""
        self._empty()
        self.store.now_s = 1_000_000.0
        self.model: dict[int, Modelled] = {}
        self.held: dict[str, list[Claim]] = {f"w{n}": [] for n in range(WORKERS_AT_ONCE)}
        self.names = itertools.count(WORKERS_AT_ONCE)
        self.registered = 0
        self._register(2)
        for kind, first, second in steps:
            getattr(self, "_" + ACTIONS[kind % len(ACTIONS)].replace(" ", "_"))(first, second)
            self._compare()
        self._check_histories()
        return len(steps)

    def close(self) -> None:
        """Give the database back."""
        self.database.close()

    def _empty(self) -> None:
        self.database.losing = ""
        with self._driver() as connection:
            for deletion in self._deletions:
                connection.execute(deletion)
            connection.commit()

    @contextmanager
    def _driver(self) -> Iterator[Any]:
        """The connection below SQLAlchemy, which the store uses too: the database is in memory."""
        lent = self.database.engine.raw_connection()
        try:
            yield lent.driver_connection
        finally:
            lent.close()

    # what may happen

    def _register(self, first: int, second: int = 0) -> None:
        count = 1 + first % 2 if self.registered else 2
        if self.registered >= 5:
            return
        days = range(self.registered, self.registered + count)
        wanted = [NewRun("s", {}, "v", date(2024, 1, 1 + day)) for day in days]
        lost = self.database.losing
        added = self.store.register(wanted, actor="sim")
        # who asks again after a lost answer is told that nothing was new
        self._expect(added, 0 if lost == "answer" else count, "registered")
        self.registered += count
        for run in self.store.runs():
            self.model.setdefault(run.id, Modelled())

    def _claim(self, first: int, second: int) -> None:
        worker = self._worker(first)
        branch = list(BRANCHES.values())[second % len(BRANCHES)]
        most, parallel = 1 + second % 3, (0, 2, 1)[first % 3]
        rounds = 2 if self.database.losing == "answer" else 1
        claims = self.store.claim(branch, worker, most=most, parallel=parallel, lease_s=LEASE_S)
        for _ in range(rounds):
            expected = self._model_claim(branch, worker, most, parallel)
        self._expect([(c.run.id, c.token) for c in claims], expected, f"{worker} {branch.name}")
        self.held[worker] += claims

    def _model_claim(
        self, branch: Branch, worker: str, most: int, parallel: int
    ) -> list[tuple[int, int]]:
        now, room = self.store.now_s, most
        if parallel and branch.kind == "trigger":
            busy = sum(one.state is branch.busy for one in self.model.values())
            busy += sum(
                one.state is branch.takes and one.until_s >= now for one in self.model.values()
            )
            room = min(most, parallel - busy)
        free = [
            (run, one)
            for run, one in self.model.items()
            if one.state is branch.takes and one.until_s < now
        ]
        order = (lambda pair: pair[0]) if branch.kind == "trigger" else (
            lambda pair: (pair[1].looked_s, pair[0])
        )  # fmt: skip
        taken = sorted(free, key=order)[: max(room, 0)]
        for _, one in taken:
            one.worker, one.token = worker, one.token + 1
            one.until_s, one.looked_s = now + LEASE_S, now
        return [(run, one.token) for run, one in taken]

    def _advance(self, first: int, second: int) -> None:
        claim = self._held(first, second)
        if claim is None:
            return
        state = claim.run.state
        events = [event for (at, event) in NEXT_STATE if at is state]
        event = events[second % len(events)]
        rows = [{"task": "t", "attempt": 1}] if event == "succeeded" else []
        model = self.model[claim.run.id]
        ours = (model.token, model.worker) == (claim.token, claim.worker)
        if ours:
            expected: Any = NEXT_STATE[state, event]
            self._model_move(model, expected, claim.token)
        else:
            expected = model.moved.get(claim.token, LostClaimError)
        try:
            found: Any = self.store.advance(claim, event, task_rows=rows)
        except LostClaimError:
            found = LostClaimError
        self._expect(found, expected, f"{claim.worker} run {claim.run.id} {event}")
        # now and then a worker does not notice that it is done with a claim, and says it again
        if second % 4:
            self.held[claim.worker].remove(claim)

    def _release(self, first: int, second: int) -> None:
        claim = self._held(first, second)
        if claim is None:
            return
        self.store.release(claim)
        model = self.model[claim.run.id]
        if model.token == claim.token:
            model.worker, model.until_s = None, 0.0
        self.held[claim.worker].remove(claim)

    def _renew(self, first: int, second: int) -> None:
        worker = self._worker(first)
        self.store.renew(self.held[worker], lease_s=LEASE_S)
        for claim in self.held[worker]:
            model = self.model[claim.run.id]
            if (model.token, model.worker) == (claim.token, claim.worker):
                model.until_s = self.store.now_s + LEASE_S

    def _crash(self, first: int, second: int) -> None:
        """A worker is killed: it forgets its claims, and another one with a new name begins."""
        del self.held[self._worker(first)]
        self.held[f"w{next(self.names)}"] = []

    def _tick(self, first: int, second: int) -> None:
        self.store.now_s += (0.5, 3.0, LEASE_S - 0.5, LEASE_S + 0.5)[first % 4]

    def _jump(self, first: int, second: int) -> None:
        """The clock is set, forward or back."""
        self.store.now_s += (3600.0, -3600.0, 60.0, -5.0)[first % 4]

    def _reset(self, first: int, second: int) -> None:
        if not self.model:
            return
        run = list(self.model)[first % len(self.model)]
        goal, model = RESET_STATES[second % len(RESET_STATES)], self.model[run]
        before = model.state
        # asked for twice, a reset may be refused the second time: not tried here
        self.database.losing = ""
        allowed = _may_move(before, f"reset to {int(goal)}")
        try:
            self.store.reset(run, goal, actor="sim")
            done = True
        except RefusedError:
            done = False
        self._expect(done, allowed, f"reset of run {run} from {before.label} to {goal.label}")
        if done:
            self._model_move(model, goal, None)
            model.token += 1

    def _free(self, first: int, second: int) -> None:
        """The maintainer frees what silent workers hold."""
        now = self.store.now_s
        silent = sorted(
            (run, one.worker)
            for run, one in self.model.items()
            if one.worker is not None and one.until_s < now
        )
        lost = self.database.losing == "answer"
        found = sorted(self.store.release_expired())
        self._expect(found, [] if lost else silent, "freed")
        for run, _ in silent:
            self.model[run].worker, self.model[run].until_s = None, 0.0

    def _lose_answer(self, first: int, second: int) -> None:
        self.database.losing = "answer"

    def _lose_question(self, first: int, second: int) -> None:
        self.database.losing = "question"

    # the model, and what is compared with it

    def _model_move(self, model: Modelled, state: RunState, token: int | None) -> None:
        model.state, model.worker, model.until_s, model.looked_s = state, None, 0.0, 0.0
        model.moves += 1
        if token is not None:
            if token in model.moved:
                raise Violation(f"moved twice under claim {token}")
            model.moved[token] = state

    def _worker(self, number: int) -> str:
        return list(self.held)[number % len(self.held)]

    def _held(self, first: int, second: int) -> Claim | None:
        claims = self.held[self._worker(first)]
        return claims[second % len(claims)] if claims else None

    def _compare(self) -> None:
        """The tables say what the model says, run by run."""
        with self._driver() as connection:
            found = {run: rest for run, *rest in connection.execute(self._tables)}
        expected = {
            run: [int(one.state), one.token, one.worker, one.until_s]
            for run, one in self.model.items()
        }
        self._expect(found, expected, "the tables")

    def _check_histories(self) -> None:
        """Every history is a path of allowed moves that ends where the run is."""
        for run, model in self.model.items():
            story = self.store.history(run)
            self._expect(len(story), model.moves, f"moves of run {run}")
            self._expect(story[-1].to_state, model.state, f"end of run {run}")
            for before, move in itertools.pairwise(story):
                self._expect(move.from_state, before.to_state, f"history of run {run}")
                self._expect(next_state(before.to_state, move.event), move.to_state, f"run {run}")

    def _expect(self, found: object, expected: object, what: str) -> None:
        if found != expected:
            raise Violation(f"{what}: {found}, expected {expected}")


def _may_move(state: RunState, event: str) -> bool:
    try:
        next_state(state, event)
    except RefusedError:
        return False
    return True


def schedule(seed: int, longest: int = 40) -> list[Step]:
    """Return the schedule of a seed."""
    chance = random.Random(seed)
    return [
        (chance.randrange(len(ACTIONS)), chance.randrange(60), chance.randrange(60))
        for _ in range(chance.randrange(5, longest))
    ]


def main() -> None:
    """Try schedules, and print those that fail."""
    numbers = [int(word) for word in sys.argv[1:]]
    schedules, first = [*numbers, *(100_000, 0)[len(numbers) :]]
    simulation, began, steps, failed = Simulation(), time.monotonic(), 0, 0
    for seed in range(first, first + schedules):
        try:
            steps += simulation.run(schedule(seed))
        except Violation as violation:
            failed += 1
            print(f"seed {seed}: {violation}", flush=True)
    took = time.monotonic() - began
    print(f"{schedules:,} schedules, {steps:,} steps in {took:.0f} s: {failed} violations.")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
