from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from prophase.errors import ExecutorError
from prophase.runs._yaml_file import YamlFile
from prophase.runs.executor import Assignment
from prophase.runs.local.attempts import attempts_of
from prophase.runs.local.executor import LocalExecutor
from prophase.runs.pipeline import pipeline_of

TWO_TASKS = """
name: two
scenario: [mib]
node_memory: {node}
sample_every: 1s
tasks:
  first: {{command: "sh -c 'echo ran >> first.txt'", memory: 256MiB}}
  second:
    command: ["{{python}}", -S, -c, "import sys; bytearray(int(sys.argv[1]) * 2**20)", "{{mib}}"]
    memory: 64MiB
    after: first
"""


def assignment(mib: int = 10, node: str = "1GiB", text: str = TWO_TASKS) -> Assignment:
    pipeline = pipeline_of(YamlFile(text.format(node=node), "p.yaml"))
    job = Assignment(1, "s", {"mib": mib}, date(2024, 1, 1), "f" * 40, pipeline, None)
    return replace(job, dag_id=job.new_dag_id)


def until_end(executor: LocalExecutor, job: Assignment):
    end = time.monotonic() + 120
    while (found := executor.check_execute(job)).progress == "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def started(executor: LocalExecutor, job: Assignment) -> Assignment:
    executor.deploy(job)
    return replace(job, run_id=executor.execute(job))


def test_an_oom_is_real_and_the_task_alone_is_lifted_until_it_fits(tmp_path):
    executor = LocalExecutor(tmp_path)
    job = started(executor, assignment(mib=150))
    assert until_end(executor, job).progress == "succeeded"
    job = replace(job, profiling_id=executor.profile(job))
    rows = executor.check_profile(job).task_rows
    tried = [(r["task"], r["status"], r["request_memory_gib"] * 1024) for r in rows]
    assert tried == [
        ("first", "completed", 256),
        ("second", "oom", 64),
        ("second", "oom", 128),
        ("second", "completed", 256),
    ]
    assert [row.get("at_least_gib") for row in rows] == [None, 64 / 1024, 128 / 1024, None]


def test_after_a_final_oom_a_live_setting_and_a_reset_rerun_only_the_failed_task(tmp_path):
    executor = LocalExecutor(tmp_path)
    job = started(executor, assignment(mib=150, node="100MiB"))
    failed = until_end(executor, job)
    assert failed.progress == "failed"
    assert "task second: out of memory" in failed.reason
    executor.allocate({"second": {"memory_gib": 0.5, "most_memory_gib": 1.0}})
    job = replace(job, resets=1)
    assert executor.execute(job) == job.run_id
    assert until_end(executor, job).progress == "succeeded"
    work = tmp_path / "local" / "runs" / job.run_id / "work"
    assert (work / "first.txt").read_text() == "ran\n"


def test_a_command_that_is_not_there_is_named_in_the_reason(tmp_path):
    text = "scenario: [mib]\ntasks:\n  only: {{command: no-such-program}}\n"
    executor = LocalExecutor(tmp_path)
    job = started(executor, assignment(text=text))
    found = until_end(executor, job)
    assert "task only: no-such-program: command not found" in found.reason


def test_a_task_that_takes_too_long_is_ended(tmp_path):
    text = "scenario: [mib]\ntasks:\n  only: {{command: sleep 100, timeout: 300ms}}\n"
    executor = LocalExecutor(tmp_path)
    job = started(executor, assignment(text=text))
    assert "not finished after 0.3 s" in until_end(executor, job).reason


SLOW = "scenario: [mib]\ntasks:\n  only: {{command: sleep 1000, memory: 256MiB}}\n"


def test_a_supervisor_that_hangs_is_replaced_and_one_nobody_waits_for_is_stopped(tmp_path):
    executor = LocalExecutor(tmp_path)
    job = started(executor, assignment(text=SLOW))
    place = tmp_path / "local" / "runs" / job.run_id
    wait_for(lambda: attempts_of(place, "only") and attempts_of(place, "only")[0].is_running())
    pid = int((place / "supervisor.pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    assert "restarted its supervisor" in executor.repair(job)
    # the next check notices and starts another, which goes on with a second attempt
    wait_for(lambda: executor.check_execute(job) and len(attempts_of(place, "only")) == 2)
    wait_for(lambda: int((place / "supervisor.pid").read_text()) != pid)
    assert executor.tidy([job]) == []
    assert len(executor.tidy([])) == 1
    wait_for(lambda: not attempts_of(place, "only")[-1].is_running())


def test_code_that_is_gone_fails_the_deployment(tmp_path):
    executor = LocalExecutor(tmp_path)
    job = replace(assignment(), code=tmp_path / "gone")
    with pytest.raises(ExecutorError, match="job code of version"):
        executor.deploy(job)
    assert executor.check_deploy(job).progress == "failed"


def test_a_deployment_that_was_changed_is_noticed(tmp_path):
    executor = LocalExecutor(tmp_path)
    job = assignment()
    executor.deploy(job)
    place = Path(tmp_path / "local" / "deployed" / job.dag_id / "scenario.yaml")
    place.write_text("other")
    assert "not what was registered" in executor.check_deploy(job).reason


def wait_for(condition: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
