from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import update

from prophase.errors import ExecutorError
from prophase.runs.campaign import Campaign
from prophase.runs.executor import RUNNING, ExecutorCheck, NoopExecutor
from prophase.runs.maintainer import maintain
from prophase.runs.states import BRANCHES, RunState
from prophase.runs.store.tables import CLAIMS
from prophase.runs.worker import Worker

PIPELINE = "executor: noop\nscenario: []\ntasks:\n  a: {command: 'true'}\n"
TRIGGERS = ("deploy", "execute", "profile")


class Crash(BaseException):
    """Ends a worker as kill -9 does: nothing is caught, nothing is cleaned up."""


class Scripted(NoopExecutor):
    """Counts what is begun, and misbehaves where it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        self.repaired: list[int] = []
        self.crash_after: str | None = None
        self.break_at: str | None = None
        self.answer: dict[str, ExecutorCheck] = {}

    def __getattribute__(self, name: str):
        found = super().__getattribute__(name)
        if name not in BRANCHES:
            return found

        def called(job):
            if name == self.break_at:
                raise ExecutorError("the cluster says no")
            result = self.answer.get(name) or found(job)
            if name in TRIGGERS and result not in self.begun:
                self.begun.append(result)
            if name == self.crash_after:
                self.crash_after = None
                raise Crash
            return result

        return called

    def repair(self, job):
        self.repaired.append(job.id)
        return "restarted it"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    (tmp_path / "p.yaml").write_text(PIPELINE)
    (tmp_path / "s.yaml").write_text("scenarios: [{scenario: a, dates: 2024-01-01..2024-01-03}]")
    made = Campaign.create(tmp_path / "c", tmp_path / "p.yaml")
    made.register(tmp_path / "s.yaml")
    for name in BRANCHES:
        made.set(f"{name}.interval_s=0.01")
    return made


def test_a_worker_takes_every_run_from_registered_to_finished(campaign):
    worker = Worker(campaign, Scripted(), name="w")
    assert worker.work() == {RunState.FINISHED: 3}
    assert [move.to_state for move in campaign.store.history(2)] == [0, 11, 17, 31, 37, 51, 57]
    assert campaign.workers.alive() == {}
    assert len(campaign.store.task_rows()) == 3


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_worker_that_dies_right_after_acting_loses_and_repeats_nothing(campaign, branch):
    executor = Scripted()
    executor.crash_after = branch
    with pytest.raises(Crash):
        Worker(campaign, executor, name="dies").work()
    expire_leases(campaign)
    assert Worker(campaign, executor, name="lives").work() == {RunState.FINISHED: 3}
    assert len(executor.begun) == 1 + 3 + 3  # one deployment for three dates
    for run in (1, 2, 3):
        assert len(campaign.store.history(run)) == 7


@pytest.mark.parametrize("branch", BRANCHES)
def test_repeating_a_branch_changes_nothing(campaign, branch):
    executor = Scripted()
    executor.answer = {f"check_{step}": RUNNING for step in TRIGGERS}
    worker = Worker(campaign, executor)
    settings = campaign.settings.read()
    for name in BRANCHES:
        worker.cycle(BRANCHES[name], settings)
        if name == branch:
            break
        executor.answer.pop(name, None)
    before = campaign.store.runs()
    if BRANCHES[branch].kind == "check":
        worker.cycle(BRANCHES[branch], settings)
    assert campaign.store.runs() == before


@pytest.mark.parametrize(("where", "state"), [("deploy", 10), ("execute", 30), ("profile", 50)])
def test_a_trigger_that_fails_stops_with_a_note_and_a_reset_resumes(campaign, where, state):
    executor = Scripted()
    executor.break_at = where
    assert Worker(campaign, executor).work() == {RunState(state): 3}
    assert campaign.store.run(1).notes == "the cluster says no"
    executor.break_at = None
    goal = BRANCHES[where].takes
    for run in (1, 2, 3):
        campaign.store.reset(run, goal, actor="me")
    assert Worker(campaign, executor).work() == {RunState.FINISHED: 3}


@pytest.mark.parametrize("where", ["check_deploy", "check_execute", "check_profile"])
def test_a_check_that_breaks_changes_nothing_and_one_that_says_failed_stops(campaign, where):
    executor = Scripted()
    executor.break_at = where
    worker = Worker(campaign, executor)
    for _ in range(4):
        worker.tick()
    waiting = BRANCHES[where].takes
    assert waiting in campaign.store.counts()
    executor.break_at = None
    executor.answer[where] = ExecutorCheck("failed", "it burnt")
    worker.work()
    assert campaign.store.run(1).notes == "it burnt"
    assert campaign.store.run(1).state.failed


def test_settings_hold_from_the_next_cycle_on(campaign):
    executor = Scripted()
    executor.answer["check_execute"] = RUNNING
    worker = Worker(campaign, executor)
    for _ in range(3):
        worker.tick()
    assert campaign.store.counts()[RunState.EXECUTING] == 2
    campaign.set("execute.parallel=3")
    worker.tick()
    assert campaign.store.counts()[RunState.EXECUTING] == 3
    campaign.set("check_execute.parallel=0")
    executor.answer.clear()
    worker.tick()
    assert campaign.store.counts()[RunState.EXECUTING] == 3


def test_a_frozen_worker_is_freed_within_one_interval_of_the_maintainer(campaign):
    campaign.set("lease_s=0.2")
    (claim, *_) = campaign.store.claim(BRANCHES["deploy"], "frozen", most=3, lease_s=0.2)
    campaign.workers.beat("frozen")
    time.sleep(0.7)
    actions = maintain(campaign, Scripted(), actor="m")
    assert f"run {claim.run.id}: freed, its worker frozen went silent" in actions
    assert any("worker frozen: struck off" in action for action in actions)
    assert Worker(campaign, Scripted()).work() == {RunState.FINISHED: 3}


def test_a_stuck_run_is_restarted_once_and_then_fails_with_a_note(campaign):
    executor = Scripted()
    executor.answer["check_execute"] = RUNNING
    worker = Worker(campaign, executor)
    for _ in range(3):
        worker.tick()
    campaign.set("stuck.execute_s=1")
    make_older(campaign)
    first = maintain(campaign, executor, actor="m")
    assert executor.repaired == [1, 2]
    assert "run 1: executing for over 1 s; restarted it" in first
    assert maintain(campaign, executor, actor="m") == []
    make_older(campaign)
    second = maintain(campaign, executor, actor="m")
    assert any("a restart did not help" in action for action in second)
    failed = campaign.store.run(1)
    assert failed.state is RunState.EXECUTE_FAILED
    assert "stuck" in failed.notes


def test_workers_share_the_maintainers_work(campaign):
    campaign.set("maintain.interval_s=1000")
    assert not any(campaign.settings.due("maintain", 1000) for _ in range(3))


def test_several_workers_never_begin_the_same_step_twice(campaign, tmp_path):
    (tmp_path / "s.yaml").write_text("scenarios: [{scenario: b, dates: 2024-01-01..2024-02-09}]")
    campaign.register(tmp_path / "s.yaml")
    executors = [Scripted() for _ in range(3)]
    workers = [Worker(campaign, executor) for executor in executors]
    threads = [threading.Thread(target=worker.work) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    executed = [name for executor in executors for name in executor.begun if "profile" in name]
    assert len(executed) == len(set(executed)) == 43


def expire_leases(campaign: Campaign) -> None:
    ended = update(CLAIMS).values(leased_until_s=0.0)
    campaign.database.write(lambda connection: connection.execute(ended))


def make_older(campaign: Campaign) -> None:
    older = update(CLAIMS).values(changed_at_s=CLAIMS.c.changed_at_s - 10)
    campaign.database.write(lambda connection: connection.execute(older))
