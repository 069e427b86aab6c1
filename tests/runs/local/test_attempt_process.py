from __future__ import annotations

import json
from pathlib import Path

import pytest

from prophase.runs.local.attempt_process import TaskFailedError, TryAgainError, tried, try_once
from prophase.runs.local.attempts import INTERRUPTED, Attempt, attempts_of
from prophase.runs.next_attempt import verdict

TASK = {"memory_gib": 1.0, "advised_gib": [], "attempts": 3}


def attempts(folder: Path, *results: dict | None, generation: int = 0) -> list[Attempt]:
    for number, result in enumerate(results, 1):
        place = folder / "tasks" / "t" / str(number)
        place.mkdir(parents=True)
        (place / "order.json").write_text(json.dumps({"generation": generation}))
        if result is not None:
            full = {"oom": False, "because": "", "limit_gib": 1.0, **result}
            (place / "result.json").write_text(json.dumps(full))
    return attempts_of(folder, "t")


def decide(made, allocation=None, *, task=TASK, generation=0, node=None, bins=()):
    return verdict(
        task,
        [tried(attempt) for attempt in made],
        allocation=allocation or {},
        generation=generation,
        node_memory_gib=node,
        bins_gib=list(bins),
    )


OOM = {"exit_code": 1, "oom": True}
DONE = {"exit_code": 0}
KILLED = {"exit_code": 137}
BROKEN = {"exit_code": 3, "because": "exit 3"}


def test_a_new_task_gets_what_is_recommended_else_what_the_pipeline_says_else_what_is_set(tmp_path):
    assert decide([]).memory_gib == 1.0
    assert decide([], task={**TASK, "advised_gib": [0.5, 2.0]}).memory_gib == 0.5
    assert decide([], {"memory_gib": 3.0}).memory_gib == 3.0


@pytest.mark.parametrize(
    ("results", "kind"),
    [([None], "running"), ([DONE], "done"), ([OOM], "again"), ([KILLED], "again"),
     ([BROKEN], "failed"), ([OOM, OOM, OOM], "failed"), ([OOM, KILLED, DONE], "done")],
)  # fmt: skip
def test_what_is_on_record_decides_what_happens_next(tmp_path, results, kind):
    assert decide(attempts(tmp_path, *results)).kind == kind


def test_after_an_oom_the_next_rung_is_taken_up_to_the_node(tmp_path):
    made = attempts(tmp_path, OOM)
    assert decide(made).memory_gib == 2.0
    assert decide(made, bins=[1.0, 1.5, 4.0]).memory_gib == 1.5
    assert decide(made, node=1.2).memory_gib == 1.2
    assert decide(made, {"memory_gib": 5.0}).memory_gib == 5.0
    stopped = decide(made, node=1.0)
    assert (stopped.kind, "no more is allowed" in stopped.reason) == ("failed", True)


def test_a_kill_from_outside_does_not_lift_the_memory(tmp_path):
    assert decide(attempts(tmp_path, KILLED)).memory_gib == 1.0


def test_after_a_reset_failed_tasks_run_again_with_what_is_set_now(tmp_path):
    made = attempts(tmp_path, BROKEN)
    again = decide(made, generation=1)
    assert (again.kind, again.memory_gib) == ("again", 1.0)
    (tmp_path / "second").mkdir()
    full = attempts(tmp_path / "second", OOM, OOM, OOM)
    assert decide(full, {"memory_gib": 8.0}, generation=1).memory_gib == 8.0
    assert decide(full, generation=1).memory_gib == 2.0


def test_an_attempt_whose_logger_died_is_written_off_once(tmp_path):
    (attempt,) = attempts(tmp_path, None)
    attempt.give_up()
    assert attempt.result()["because"] == INTERRUPTED
    assert decide([attempt]).kind == "again"


def spec(folder: Path, command: list[str]) -> Path:
    task = {**TASK, "command": command, "after": [], "cpu_cores": 1, "timeout_s": None}
    described = {"id": 1, "generation": 0, "env": {}, "tasks": {"t": {**task, "memory_gib": 0.25}}}
    described |= {"sample_every_s": 1.0, "node_memory_gib": None, "bins_gib": []}
    (folder / "spec.json").write_text(json.dumps(described))
    return folder


def test_a_scheduler_that_repeats_tasks_is_asked_to_until_the_memory_suffices(tmp_path):
    allocate = "x = bytearray(300 * 2**20)"
    run = spec(tmp_path, ["\0python\0", "-S", "-c", allocate])
    with pytest.raises(TryAgainError, match=r"task t: .*next with 512 MiB"):
        try_once(run, "t", {})
    assert try_once(run, "t", {})["exit_code"] == 0
    # once more changes nothing
    assert try_once(run, "t", {})["limit_gib"] == 0.5
    assert len(attempts_of(run, "t")) == 2


def test_a_scheduler_that_repeats_tasks_is_reported_when_that_would_not_help(tmp_path):
    run = spec(tmp_path, ["sh", "-c", "exit 3"])
    for _ in range(2):
        with pytest.raises(TaskFailedError, match=r"task t: exit 3; its output is in"):
            try_once(run, "t", {})
    assert len(attempts_of(run, "t")) == 1
    with pytest.raises(TaskFailedError, match=r"spec\.json: is not there"):
        try_once(tmp_path / "elsewhere", "t", {})


def test_a_recommendation_that_is_set_later_holds_before_the_pipelines_and_never_exceeds_the_node(
    tmp_path,
):
    advised = {"advised_gib": [0.5, 3.0]}
    assert decide([], advised).memory_gib == 0.5
    assert decide([], {**advised, "memory_gib": 2.0}).memory_gib == 2.0
    assert decide([], {"advised_gib": [64.0]}, node=16.0).memory_gib == 16.0
    assert decide(attempts(tmp_path, OOM), advised).memory_gib == 3.0
