"""What a failed run leaves behind, what other sources add to a run, and where its logs go."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from prophase.errors import InputError, ParameterError, StorageError
from prophase.runs.campaign import Campaign
from prophase.runs.executor import Assignment
from prophase.runs.maintainer import maintain
from prophase.runs.measured_rows import export, exported_tables, profile_of
from prophase.runs.run_filter import RunFilter
from prophase.runs.shared_logs import upload_logs
from prophase.runs.states import RunState
from prophase.runs.status import allocation_rows, list_runs, list_tasks, reset_runs, show_run
from prophase.runs.worker import Worker

#: load always fits; train needs 180 MiB and is given 128 once
PIPELINE = """
name: hungry
scenario: [region]
sample_every: 1s
{more}
tasks:
  load: {{command: ["true"], memory: 256MiB}}
  train:
    command: ["{{python}}", -S, -c, "x = bytearray(180 * 2**20)"]
    memory: 128MiB
    after: load
    attempts: 1
"""
SCENARIOS = """
dates: [2024-01-01, 2024-02-01]
scenarios: [{scenario: eu_north, region: eu}, {scenario: us, region: us}]
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Callable[..., Campaign]]:
    opened = []

    def make(more: str = "", scenarios: str = SCENARIOS) -> Campaign:
        (tmp_path / "p.yaml").write_text(PIPELINE.format(more=more))
        (tmp_path / "s.yaml").write_text(scenarios)
        made = Campaign.create(tmp_path / "c", tmp_path / "p.yaml")
        made.register(tmp_path / "s.yaml")
        for branch in ("deploy", "execute", "profile"):
            made.set(f"{branch}.interval_s=0.05")
            made.set(f"check_{branch}.interval_s=0.05")
        made.set("execute.parallel=4")
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.close()


ONE = "dates: 2024-01-01\nscenarios: [{scenario: a, region: eu}]"


def test_task_instances_of_a_failed_run_are_kept_shown_and_exported_as_at_least_this_much(
    campaign, tmp_path
):
    held = campaign()
    Worker(held).work()
    assert held.store.counts() == {RunState.EXECUTE_FAILED: 4}
    told = [(row["task"], row["status"], row["at_least_gib"]) for row in show_run(held, 1)["tasks"]]
    assert told == [("load", "completed", None), ("train", "oom", 0.125)]
    assert len(list_tasks(held, ended="oom")) == 4
    jobs = exported_tables(held)["jobs"]
    killed = jobs[jobs["status"] == "oom"]
    assert killed["memory_peak_gib"].tolist() == [0.125] * 4
    assert killed["after_at_least_gib"].tolist() == [0.125] * 4
    assert set(jobs["after_run_state"]) == {"execute failed"}
    # more memory, by hand: what was killed stays on record beside what succeeded
    held.set_all(["task.train.memory_gib=0.25"])
    assert allocation_rows(held)[1]["says"] == "set"
    reset_runs(held, [1], actor="ann")
    assert len(show_run(held, 1)["tasks"]) == 2
    Worker(held).work()
    assert len(profile_of(held, held.store.run(1))) == 2
    first = [(r["task"], r["attempt"], r["status"]) for r in show_run(held, 1)["tasks"]]
    assert first == [("load", 1, "completed"), ("train", 1, "oom"), ("train", 2, "completed")]
    assert export(held, tmp_path / "ws")["jobs"] == 9


def test_runs_and_tasks_are_found_by_scenario_date_task_and_state(campaign, tmp_path):
    held = campaign()
    Worker(held).work()

    def ids(**text: str) -> list[int]:
        return [run["id"] for run in list_runs(held, where=RunFilter.of_text(**text))]

    assert ids(scenario="us") == [3, 4]
    assert ids(scenario="eu*") == [1, 2]
    assert ids(scenario="eu%") == []
    assert ids(since="2024-01-15") == [2, 4]
    assert ids(until="2024-01-15", state="35") == [1, 3]
    assert ids(state="failed", task="train") == [1, 2, 3, 4]
    assert ids(state="finished") == []
    assert ids(task="evaluate") == []
    where = RunFilter.of_text(scenario="us", task="train")
    assert export(held, tmp_path / "ws", where=where)["jobs"] == 2
    with pytest.raises(InputError, match="prophase runs tasks"):
        exported_tables(held, where=RunFilter.of_text(state="57"))
    with pytest.raises(ParameterError, match="since is 'soon'"):
        RunFilter.of_text(since="soon")
    with pytest.raises(ParameterError, match="execute failed"):
        RunFilter.of_text(state="execute fail")


def test_several_settings_are_changed_all_or_none(campaign):
    held = campaign()
    with pytest.raises(ParameterError, match="no such task"):
        held.set_all(["task.train.memory_gib=2", "task.trian.memory_gib=2"])
    with pytest.raises(ParameterError, match="write KEY=VALUE"):
        held.set_all(["task.train.memory_gib=2", "lease_s"])
    assert [row["says"] for row in allocation_rows(held)] == ["pipeline", "pipeline"]


def test_other_sources_add_attributes_while_a_run_is_profiled(campaign, tmp_path):
    script = tmp_path / "attributes.py"
    script.write_text(
        "import json, os, sys\n"
        "rows = {'train': {'rows': 7}}\n"
        "said = {'articles': 812, 'where': os.environ['PROPHASE_REGION'] + sys.argv[1]}\n"
        "print(json.dumps({**said, 'tasks': rows}))\n"
    )
    held = campaign(f'attributes: ["{{python}} {script} {{date}}"]', ONE)
    held.set("task.train.memory_gib=0.25")

    def weather(job: Assignment) -> dict[str, object]:
        return {"rain": job.execution_date == date(2024, 1, 1)}

    Worker(held, attribute_sources=[weather]).work()
    jobs = exported_tables(held)["jobs"].set_index("task")
    assert jobs.loc["train", "attr_articles"] == 812
    assert jobs.loc["train", "attr_where"] == "eu2024-01-01"
    assert jobs.loc["train", "attr_rows"] == 7
    assert jobs["attr_rows"].isna().tolist() == [True, False]
    assert jobs["attr_rain"].tolist() == [True, True]
    assert profile_of(held, held.store.run(1))[0]["articles"] == 812


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("import sys; sys.exit('no service')", "ended with 1: no service"),
        ("print([1])", "must print one JSON object"),
        ("print('{\"scenario\": 1}')", "'scenario' cannot be the name"),
        ("print('{\"x\": [1]}')", "must be a text or a number"),
        ('print(\'{"tasks": {"other": {}}}\')', "'other' is no task"),
        ("print('{\"tasks\": 3}')", "one object per task"),
    ],
)
def test_a_source_that_breaks_fails_the_profiling_with_its_words_and_can_be_repeated(
    campaign, tmp_path, printed, said
):
    script = tmp_path / "attributes.py"
    script.write_text(printed)
    held = campaign(f'attributes: "{{python}} {script}"', ONE)
    held.set("task.train.memory_gib=0.25")
    Worker(held).work()
    run = held.store.run(1)
    assert run.state is RunState.PROFILE_FAILED
    assert said in str(run.notes)
    # what was measured is there without the attributes
    assert exported_tables(held)["jobs"]["task"].tolist() == ["load", "train"]
    script.write_text("print('{}')")
    reset_runs(held, [1], to="37", actor="ann")
    Worker(held).work()
    assert held.store.run(1).state is RunState.FINISHED


def test_a_failed_run_keeps_its_attempts_even_if_a_source_breaks(campaign, tmp_path):
    held = campaign('attributes: ["no-such-program"]', ONE)
    Worker(held).work()
    assert [row["status"] for row in show_run(held, 1)["tasks"]] == ["completed", "oom"]


def test_logs_are_uploaded_to_shared_storage_and_read_from_there(campaign, tmp_path):
    shared = tmp_path / "shared"
    held = campaign(f"logs: file://{shared}", ONE)
    held.set("task.train.memory_gib=0.25")
    Worker(held).work()
    row = show_run(held, 1)["tasks"][1]
    place = shared / f"{held.store.run(1).run_id}/train/1"
    assert row["logs_url"] == f"file://{place}"
    assert {path.name for path in place.iterdir()} >= {"samples.jsonl", "stdout.log"}
    here = exported_tables(held)["usage"]
    # as on another machine, which has the database and the shared storage alone
    shutil.rmtree(held.folder / "local")
    assert exported_tables(held)["usage"].equals(here)


def test_storage_that_cannot_be_reached_fails_the_profiling_by_name(campaign, tmp_path):
    (tmp_path / "taken").write_text("a file")
    held = campaign(f"logs: file://{tmp_path}/taken", ONE)
    held.set("task.train.memory_gib=0.25")
    Worker(held).work()
    assert "logs cannot be written there" in str(held.store.run(1).notes)
    with pytest.raises(StorageError, match="nowhere"):
        upload_logs([], "nowhere://x", "run")


def test_a_stuck_run_that_is_given_up_keeps_what_had_ended(campaign, monkeypatch):
    held = campaign("", ONE)
    held.set("check_execute.parallel=0")
    worker = Worker(held)
    worker.work(stop=lambda: held.store.run(1).state is RunState.EXECUTING)
    while len(list(held.executor.ended_attempts(held.assignment(held.store.run(1))))) < 2:
        time.sleep(0.05)
    for now in (9e9, 9.1e9):
        monkeypatch.setattr("prophase.runs.maintainer.time.time", lambda now=now: now)
        maintain(held, held.executor, actor="test")
    assert held.store.run(1).state is RunState.EXECUTE_FAILED
    assert [row["task"] for row in show_run(held, 1)["tasks"]] == ["load", "train"]
