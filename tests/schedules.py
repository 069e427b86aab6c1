"""Deterministic simulation: a seed is a schedule, real code carries it out, a plain model judges.

A schedule is a list of small numbers: who does what next, how the clock jumps, who dies, which
answer of the database is lost on its way. The real tables (SQL on SQLite in memory) carry it out;
beside them a model of a few dictionaries says what has to come of each step. A schedule that fails
is printed with its seed, and the same seed fails again.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Connection, Table, delete

from prophase.sql_database import SqlDatabase

Result = TypeVar("Result")
Step = tuple[int, int, int]


class Violation(AssertionError):
    """The tables did what the model does not allow."""


class Lossy(SqlDatabase):
    """A database whose connection breaks when the schedule says so, before or after the commit."""

    losing = ""

    def write(
        self, work: Callable[[Connection], Result], *, patience_s: float | None = None,
        alone: bool = False,
    ) -> Result:  # fmt: skip
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


class Simulated:
    """Tables and their model, side by side; who derives from it has a method per action.

    Parameters
    ----------
    database : Lossy
        In memory, with its tables.
    emptied : sequence of Table
        What a schedule begins without.
    """

    #: what may happen next; the numbers of a schedule choose among these
    actions: ClassVar[tuple[str, ...]]

    def __init__(self, database: Lossy, emptied: Sequence[Table]) -> None:
        self.database = database
        self.now_s = 0.0
        self._deletions = [self.sql(delete(table)) for table in emptied]

    def run(self, steps: Sequence[Step]) -> int:
        """Carry a schedule out from empty tables; return how many steps it had."""
        self.database.losing = ""
        with self.driver() as connection:
            for deletion in self._deletions:
                connection.execute(deletion)
        self.now_s = 1_000_000.0
        self.begin()
        for kind, first, second in steps:
            action = self.actions[kind % len(self.actions)].replace(" ", "_")
            getattr(self, f"_{action}")(first, second)
            self.compare()
        self.finish()
        return len(steps)

    def begin(self) -> None:
        """Make what a schedule begins with."""
        raise NotImplementedError

    def compare(self) -> None:
        """Raise a violation unless the tables say what the model says."""
        raise NotImplementedError

    def finish(self) -> None:
        """Check what can be told at the end alone."""

    def close(self) -> None:
        """Give the database back."""
        self.database.close()

    def sql(self, statement: Any) -> str:
        """Return a statement as the driver takes it.

        Looking on takes no part in what is tried, so it need not be built anew at every step.
        """
        return str(statement.compile(dialect=self.database.engine.dialect))

    @contextmanager
    def driver(self) -> Iterator[Any]:
        """The connection below SQLAlchemy, which the real code uses too: it is in memory."""
        lent = self.database.engine.raw_connection()
        try:
            yield lent.driver_connection
        finally:
            lent.close()

    def expect(self, found: object, expected: object, what: str) -> None:
        """Raise a violation unless both are equal."""
        if found != expected:
            raise Violation(f"{what}: {found}, expected {expected}")

    # what may happen to all of them

    def _jump(self, first: int, second: int) -> None:
        """The clock is set, forward or back."""
        self.now_s += (3600.0, -3600.0, 60.0, -5.0)[first % 4]

    def _lose_answer(self, first: int, second: int) -> None:
        self.database.losing = "answer"

    def _lose_question(self, first: int, second: int) -> None:
        self.database.losing = "question"


def schedule(seed: int, kinds: int, longest: int = 40) -> list[Step]:
    """Return the schedule of a seed, for so many kinds of actions."""
    chance = random.Random(seed)
    return [
        (chance.randrange(kinds), chance.randrange(60), chance.randrange(60))
        for _ in range(chance.randrange(5, longest))
    ]


def try_schedules(simulation: Simulated, words: Sequence[str]) -> None:
    """Try schedules, print those that fail, and leave; the words say how many, from which seed."""
    numbers = [int(word) for word in words]
    schedules, first = [*numbers, *(100_000, 0)[len(numbers) :]]
    began, steps, failed = time.monotonic(), 0, 0
    for seed in range(first, first + schedules):
        try:
            steps += simulation.run(schedule(seed, len(simulation.actions)))
        except Violation as violation:
            failed += 1
            print(f"seed {seed}: {violation}", flush=True)
    took = time.monotonic() - began
    print(f"{schedules:,} schedules, {steps:,} steps in {took:.0f} s: {failed} violations.")
    sys.exit(failed > 0)
