"""What a service keeps, under every order of events of three replicas, judged by a plain model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.schedules import Step, Violation, schedule
from tests.serve.state_simulation import ACTIONS, ServiceSimulation

from prophase.serve.background.task_rows import TaskRows

STEPS = st.lists(
    st.tuples(st.integers(0, len(ACTIONS) - 1), st.integers(0, 59), st.integers(0, 59)),
    max_size=25,
)


@pytest.fixture(scope="module")
def simulation() -> Iterator[ServiceSimulation]:
    made = ServiceSimulation()
    yield made
    made.close()


def test_no_schedule_breaks_what_replicas_share(simulation: ServiceSimulation) -> None:
    for seed in range(40):
        simulation.run(schedule(seed, len(ACTIONS)))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_replicas_do_what_the_model_says(simulation: ServiceSimulation, steps: list[Step]) -> None:
    simulation.run(steps)


def test_a_replica_that_ends_the_task_of_another_gets_caught(
    simulation: ServiceSimulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = TaskRows._own
    monkeypatch.setattr(TaskRows, "_own", lambda self, task, worker: own(self, task, None))
    with pytest.raises(Violation):  # noqa: PT012
        for seed in range(300):
            simulation.run(schedule(seed, len(ACTIONS)))
