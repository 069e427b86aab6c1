"""Deterministic simulation of the table of runs: one seed drives everything, a plain model judges.

python -m tests.runs.store.simulation [SCHEDULES] [SEED]
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from sqlalchemy import ColumnElement, literal, select
from tests.schedules import Lossy, Simulated, Violation, try_schedules

from prophase.errors import RefusedError
from prophase.runs.states import BRANCHES, NEXT_STATE, RESET_STATES, Branch, RunState, next_state
from prophase.runs.store.database import Database
from prophase.runs.store.records import Claim, LostClaimError, NewRun
from prophase.runs.store.run_store import RunStore
from prophase.runs.store.tables import CLAIMS, HISTORY, RUNS, TASK_ROWS, VERSIONS, WORKERS

LEASE_S = 10.0
WORKERS_AT_ONCE = 3
ACTIONS = (
    "claim", "claim", "claim", "advance", "advance", "advance", "release", "renew", "crash",
    "tick", "tick", "jump", "reset", "free", "register", "lose answer", "lose question",
)  # fmt: skip
#: where every run stands, and who holds it
_TABLES = select(
    RUNS.c.id, RUNS.c.state, CLAIMS.c.token, CLAIMS.c.worker, CLAIMS.c.leased_until_s
).join_from(RUNS, CLAIMS, CLAIMS.c.run == RUNS.c.id)
_EMPTIED = (TASK_ROWS, HISTORY, CLAIMS, WORKERS, VERSIONS, RUNS)


class LossyDatabase(Lossy, Database):
    """The database of runs, on a connection that breaks."""


class ClockedStore(RunStore):
    """The real store with a clock of ours."""

    def __init__(self, database: Database, clock: Simulated) -> None:
        super().__init__(database)
        self.clock = clock

    @property
    def _now(self) -> ColumnElement[float]:
        return literal(self.clock.now_s)


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


class Simulation(Simulated):
    """The store and its model."""

    actions = ACTIONS

    def __init__(self) -> None:
        database = LossyDatabase("sqlite://", patience_s=1.0)
        database.migrate()
        super().__init__(database, _EMPTIED)
        self.store = ClockedStore(database, self)
        self._tables = self.sql(_TABLES)

    def begin(self) -> None:
        self.model: dict[int, Modelled] = {}
        self.held: dict[str, list[Claim]] = {f"w{n}": [] for n in range(WORKERS_AT_ONCE)}
        self.names = itertools.count(WORKERS_AT_ONCE)
        self.registered = 0
        self._register(2)

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
        self.expect(added, 0 if lost == "answer" else count, "registered")
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
        self.expect([(c.run.id, c.token) for c in claims], expected, f"{worker} {branch.name}")
        self.held[worker] += claims

    def _model_claim(
        self, branch: Branch, worker: str, most: int, parallel: int
    ) -> list[tuple[int, int]]:
        now, room = self.now_s, most
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
        self.expect(found, expected, f"{claim.worker} run {claim.run.id} {event}")
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
                model.until_s = self.now_s + LEASE_S

    def _crash(self, first: int, second: int) -> None:
        """A worker is killed: it forgets its claims, and another one with a new name begins."""
        del self.held[self._worker(first)]
        self.held[f"w{next(self.names)}"] = []

    def _tick(self, first: int, second: int) -> None:
        self.now_s += (0.5, 3.0, LEASE_S - 0.5, LEASE_S + 0.5)[first % 4]

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
        self.expect(done, allowed, f"reset of run {run} from {before.label} to {goal.label}")
        if done:
            self._model_move(model, goal, None)
            model.token += 1

    def _free(self, first: int, second: int) -> None:
        """The maintainer frees what silent workers hold."""
        now = self.now_s
        silent = sorted(
            (run, one.worker)
            for run, one in self.model.items()
            if one.worker is not None and one.until_s < now
        )
        lost = self.database.losing == "answer"
        found = sorted(self.store.release_expired())
        self.expect(found, [] if lost else silent, "freed")
        for run, _ in silent:
            self.model[run].worker, self.model[run].until_s = None, 0.0

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

    def compare(self) -> None:
        """The tables say what the model says, run by run."""
        with self.driver() as connection:
            found = {run: rest for run, *rest in connection.execute(self._tables)}
        expected = {
            run: [int(one.state), one.token, one.worker, one.until_s]
            for run, one in self.model.items()
        }
        self.expect(found, expected, "the tables")

    def finish(self) -> None:
        """Every history is a path of allowed moves that ends where the run is."""
        for run, model in self.model.items():
            story = self.store.history(run)
            self.expect(len(story), model.moves, f"moves of run {run}")
            self.expect(story[-1].to_state, model.state, f"end of run {run}")
            for before, move in itertools.pairwise(story):
                self.expect(move.from_state, before.to_state, f"history of run {run}")
                self.expect(next_state(before.to_state, move.event), move.to_state, f"run {run}")


def _may_move(state: RunState, event: str) -> bool:
    try:
        next_state(state, event)
    except RefusedError:
        return False
    return True


if __name__ == "__main__":
    try_schedules(Simulation(), sys.argv[1:])
