from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import ExecutorError, ParameterError, RefusedError
from prophase.runs.campaign import Campaign
from prophase.runs.executor import RUNNING, Assignment, ExecutorCheck, NoopExecutor
from prophase.runs.measured_rows import profile_of, profile_run
from prophase.runs.states import RunState
from prophase.runs.status import list_runs, reset_runs, show_run
from prophase.runs.worker import Worker

PIPELINE = """
name: tiny
executor: noop
scenario: [size]
tasks:
  last: {command: "true", after: first}
  first: {command: "true"}
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    (tmp_path / "p.yaml").write_text(PIPELINE)
    (tmp_path / "s.yaml").write_text("dates: 2024-01-01\nscenarios: [{scenario: a, size: 3}]")
    made = Campaign.create(tmp_path / "c", tmp_path / "p.yaml")
    made.register(tmp_path / "s.yaml")
    return made


def ids(campaign: Campaign) -> tuple[str, str]:
    shown = show_run(campaign, 1)
    return shown["dag_id"], shown["run_id"]


def until(campaign: Campaign, state: RunState) -> None:
    worker = Worker(campaign)
    for _ in range(20):
        if campaign.store.run(1).state is state:
            return
        worker.tick()
    raise AssertionError(campaign.store.run(1))


def test_a_finished_run_has_one_row_per_task_in_their_order_with_its_scenario(campaign):
    until(campaign, RunState.FINISHED)
    rows = profile_run(campaign, *ids(campaign))
    assert [(row["task"], row["scenario"], row["size"]) for row in rows] == [
        ("last", "a", 3),
        ("first", "a", 3),
    ]
    campaign.close()


def test_a_run_that_was_executed_is_profiled_on_demand_and_one_before_that_is_refused(campaign):
    campaign.set("profile.parallel=0")
    campaign.set("execute.parallel=0")
    until(campaign, RunState.DEPLOYED)
    with pytest.raises(ParameterError, match="There is no run"):
        profile_run(campaign, "x", "y")
    with pytest.raises(RefusedError, match=r"Run 1 is deployed \(17\)"):
        profile_of(campaign, campaign.store.run(1))
    campaign.set("execute.parallel=1")
    campaign.set("check_execute.parallel=0")
    until(campaign, RunState.EXECUTING)
    with pytest.raises(RefusedError, match=r"executing \(31\); only a run that was executed"):
        profile_run(campaign, *ids(campaign))
    campaign.set("check_execute.parallel=1")
    until(campaign, RunState.EXECUTED)
    assert len(profile_run(campaign, *ids(campaign))) == 2
    campaign.close()


class Gathering(NoopExecutor):
    """Is never done with gathering."""

    def check_profile(self, job: Assignment) -> ExecutorCheck:
        return RUNNING


def test_what_is_still_being_gathered_or_gone_is_said(campaign):
    campaign.set("profile.parallel=0")
    until(campaign, RunState.EXECUTED)
    campaign.__dict__["executor"] = Gathering()
    with pytest.raises(RefusedError, match="still being gathered"):
        profile_run(campaign, *ids(campaign))
    gone = NoopExecutor()
    gone.profile = lambda job: (_ for _ in ()).throw(ExecutorError("its pods are gone"))
    campaign.__dict__["executor"] = gone
    with pytest.raises(ExecutorError, match="its pods are gone"):
        profile_run(campaign, *ids(campaign))
    campaign.close()


def test_runs_are_listed_by_state_and_page_and_reset_with_who_and_why(campaign, tmp_path):
    (tmp_path / "s.yaml").write_text(
        "dates: [2024-01-01, 2024-01-02, 2024-01-03]\nscenarios: [{scenario: a, size: 3}]"
    )
    campaign.register(tmp_path / "s.yaml")
    assert [run["id"] for run in list_runs(campaign, after=1, most=1)] == [2]
    assert list_runs(campaign, failed=True) == []
    until(campaign, RunState.FINISHED)
    assert reset_runs(campaign, [1], to="executed", actor="ann", reason="look again") == [
        {"id": 1, "was": 57, "is": 37}
    ]
    assert [run["id"] for run in list_runs(campaign, states=[RunState.EXECUTED])] == [1]
    last = show_run(campaign, 1)["history"][-1]
    assert (last["actor"], last["reason"]) == ("ann", "look again")
    campaign.close()
