"""A task takes effect once, whatever happens to whoever measures it."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.runs.logger_kills import campaign

from prophase.runs.local.attempt_process import judge, start_attempt
from prophase.runs.local.attempts import PARTLY_MEASURED, attempts_of
from prophase.runs.local.run_records import task_rows
from prophase.runs.usage.process_tree import descendants


def test_no_task_takes_effect_twice_when_its_logger_is_killed(tmp_path: Path) -> None:
    found = campaign(tmp_path, kills=12, seed=3)
    assert found["problems"] == []
    assert found["took_effect_twice"] == 0
    assert sum(found["killed"].values()) >= 12


def test_where_nobody_can_know_the_row_says_so(tmp_path: Path) -> None:
    found = campaign(tmp_path, kills=12, seed=5, keepers=True)
    assert found["problems"] == []


def begin(run: Path, command: str, *, tied: bool = False, timeout_s: float | None = None) -> int:
    """Start an attempt, and return the process of its logger once the command runs."""
    run.mkdir()
    task = {
        "command": ["sh", "-c", command], "memory_gib": 0.25, "advised_gib": [], "attempts": 3,
        "timeout_s": timeout_s, "cpu_cores": 1,
    }  # fmt: skip
    spec = {
        "id": 1, "generation": 0, "env": {}, "tasks": {"t": task}, "sample_every_s": 1.0,
        "node_memory_gib": None, "bins_gib": [],
    }  # fmt: skip
    (run / "spec.json").write_text(json.dumps(spec))
    logger = start_attempt(run, spec, "t", None, tied=tied)
    while not (run / "began").exists():
        time.sleep(0.01)
    os.kill(logger.pid, signal.SIGKILL)
    logger.wait()
    return logger.pid


def ended(run: Path) -> str:
    """Wait until the attempt has ended; return what happens next."""
    spec = json.loads((run / "spec.json").read_text())
    while (state := judge(run, spec, "t", {})).kind == "running":
        time.sleep(0.01)
    return state.kind


def test_a_command_goes_on_without_its_logger_and_its_end_is_on_record(tmp_path: Path) -> None:
    before = set(descendants(os.getpid()))
    run = tmp_path / "run"
    begin(run, f"touch {run}/began; while [ ! -e {run}/go ]; do sleep 0.02; done; exit 0")
    (attempt,) = attempts_of(run, "t")
    assert attempt.is_running()
    (run / "go").touch()
    assert ended(run) == "done"
    (row,) = task_rows(run)
    assert row["status"] == "completed"
    assert row["memory_peak_gib"] is None
    assert row["at_least_gib"] is not None
    assert PARTLY_MEASURED in (attempt.result() or {})["because"]
    assert not set(descendants(os.getpid())) - before


@pytest.mark.parametrize(
    ("command", "cause"),
    [("exit 3", "failed"), ("echo CUDA out of memory >&2; exit 1", "gpu_memory")],
)
def test_a_failure_without_a_logger_is_told_as_any_other(
    tmp_path: Path, command: str, cause: str
) -> None:
    run = tmp_path / "run"
    begin(run, f"touch {run}/began; sleep 0.2; {command}")
    assert ended(run) == "failed"
    (attempt,) = attempts_of(run, "t")
    assert (attempt.result() or {})["cause"] == cause


def test_the_time_limit_holds_without_a_logger(tmp_path: Path) -> None:
    run = tmp_path / "run"
    begin(run, f"touch {run}/began; sleep 600", timeout_s=1.0)
    ended(run)
    (attempt,) = attempts_of(run, "t")
    assert (attempt.result() or {})["cause"] == "time_limit"


def test_an_attempt_that_is_tied_to_its_caller_ends_with_it(tmp_path: Path) -> None:
    run = tmp_path / "run"
    begin(run, f"touch {run}/began; sleep 600", tied=True)
    assert ended(run) == "again"
    (attempt,) = attempts_of(run, "t")
    result = attempt.result() or {}
    assert result["cause"] == "killed"
    assert not result["unsure"]
