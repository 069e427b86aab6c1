"""The table of runs under every order of events that can be thought of, judged by a plain model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update
from tests.runs.store.simulation import ACTIONS, Simulation
from tests.schedules import Step, Violation, schedule

from prophase.runs.store.records import Claim
from prophase.runs.store.tables import CLAIMS

STEPS = st.lists(
    st.tuples(st.integers(0, len(ACTIONS) - 1), st.integers(0, 59), st.integers(0, 59)),
    max_size=25,
)


@pytest.fixture(scope="module")
def simulation() -> Iterator[Simulation]:
    made = Simulation()
    yield made
    made.close()


def test_no_schedule_breaks_the_table(simulation: Simulation) -> None:
    for seed in range(40):
        simulation.run(schedule(seed, len(ACTIONS)))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_the_store_does_what_the_model_says(simulation: Simulation, steps: list[Step]) -> None:
    simulation.run(steps)


def test_a_store_that_forgets_whose_a_run_is_gets_caught(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def release(claim: Claim) -> None:
        # the token is not looked at: a worker that was away frees what is another's now
        free = update(CLAIMS).where(CLAIMS.c.run == claim.run.id)
        simulation.database.write(lambda one: one.execute(free.values(worker=None)))

    monkeypatch.setattr(simulation.store, "release", release)
    with pytest.raises(Violation):  # noqa: PT012
        for seed in range(200):
            simulation.run(schedule(seed, len(ACTIONS)))


def test_a_seed_gives_the_same_schedule() -> None:
    assert schedule(17, 9) == schedule(17, 9)
    assert schedule(17, 9) != schedule(18, 9)
