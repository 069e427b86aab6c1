"""What is done about a killed job, decided from what a real scontrol printed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prophase.errors import ParameterError
from prophase.integrations.slurm.commands import SlurmCommands
from prophase.integrations.slurm.cure import Cure, CureRules, cure_job

#: a line of scontrol show job -o, as Slurm 22.05 prints it
SHOWN = (
    "JobId=7 JobName=my train UserId=ann(61000) Account=nlp QOS=normal JobState={state} "
    "Requeue={requeue} Restarts={restarts} BatchFlag=1 ExitCode={code} RunTime=00:00:00 "
    "TimeLimit=00:06:00 Partition=main NumNodes=1 NumCPUs=4 NumTasks=1 CPUs/Task=4 {memory} "
    "Comment={comment} AdminComment={note}  StdErr={log} StdOut={log} Power= "
)
USUAL = {
    "state": "OUT_OF_MEMORY", "requeue": "1", "restarts": "0", "code": "0:125",
    "memory": "MinMemoryNode=381M", "comment": "(null)", "log": "/nowhere",
    "note": "prophase: memory 4096 -> 381, 495, 4096; time 120 -> 6, 9, 120",
}  # fmt: skip


@pytest.fixture
def cured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Return a function that cures a job, and what Slurm was told to do."""
    calls = tmp_path / "calls"
    for name in ("scontrol", "sinfo", "sacctmgr"):
        tool = tmp_path / name
        tool.write_text(
            f'#!/bin/sh\necho "{name} $*" >>{calls}\n'
            f'[ "$1" = show ] && cat {tmp_path}/shown\n[ {name} = sinfo ] && echo 32000\nexit 0\n'
        )
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def run(rules: CureRules | None = None, **words: str) -> tuple[Cure | None, list[str]]:
        (tmp_path / "shown").write_text(SHOWN.format(**{**USUAL, **words}) + "\n")
        calls.write_text("")
        found = cure_job(SlurmCommands(), "7", rules or CureRules())
        return found, [line for line in calls.read_text().splitlines() if " show " not in line]

    return run


def test_the_next_rung_of_the_note_is_taken_and_the_rest_stays(cured) -> None:  # type: ignore[no-untyped-def]
    found, told = cured()
    assert found.requeued
    assert found.words == ("killed for memory at 381 MiB, requeued with 495 MiB (1 of at most 2)")
    assert [line.split()[1] for line in told if "scontrol" in line] == [
        "requeuehold", "update", "release",
    ]  # fmt: skip
    assert any("MinMemoryNode=495" in line and "-> 495, 4096" in line for line in told)


def test_without_a_note_memory_doubles_up_to_the_largest_node(cured) -> None:  # type: ignore[no-untyped-def]
    found, told = cured(note="(null)", memory="MinMemoryCPU=2G")
    assert "requeued with 4 GiB" in found.words
    assert any("MinMemoryCPU=4096" in line for line in told)
    found, _ = cured(note="(null)", memory="MinMemoryNode=32000M")
    assert not found.requeued
    assert "the most that a node has" in found.words


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"restarts": "2"}, "requeued 2 times already"),
        ({"requeue": "0"}, "--no-requeue"),
        ({"comment": "prophase=off"}, "opted out"),
    ],
)
def test_a_job_is_left_alone_where_it_should_be(cured, words: dict[str, str], why: str) -> None:  # type: ignore[no-untyped-def]
    found, told = cured(**words)
    assert not found.requeued
    assert why in found.words
    assert not any("requeuehold" in line for line in told)


def test_time_is_cured_where_the_site_wants_it(cured) -> None:  # type: ignore[no-untyped-def]
    assert cured(state="TIMEOUT")[0] is None
    found, told = cured(CureRules(time=True), state="TIMEOUT")
    assert "out of time after 6 min, requeued with 9 min" in found.words
    assert any("TimeLimit=9" in line for line in told)


def test_gpu_memory_gets_a_note_and_a_plain_failure_nothing(cured, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    log = tmp_path / "out"
    log.write_text("step 3\nRuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n")
    found, told = cured(state="FAILED", code="1:0", log=str(log))
    assert (found.cause, found.requeued) == ("gpu_memory", False)
    assert any(line.startswith("sacctmgr -i modify job") for line in told)
    log.write_text("ValueError: no such column\n")
    assert cured(state="FAILED", code="1:0", log=str(log))[0] is None
    assert cured(state="COMPLETED")[0] is None


@pytest.mark.parametrize("held", [{"most": -1}, {"often": 2}, {"memory": "yes"}, "on"])
def test_settings_that_mean_nothing_are_refused(held: object) -> None:
    with pytest.raises(ParameterError, match="cure"):
        CureRules.of({"cure": held})
