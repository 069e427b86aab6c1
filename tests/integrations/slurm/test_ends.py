"""Jobs that a real Slurm ends before they are done: how they are collected, and cured."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from tools.slurm_referee import SlurmReferee, SlurmSite
from typer.testing import CliRunner

from prophase.cli.main import app
from prophase.integrations.slurm.cure import fields_of, mib_of
from prophase.sizing.recommender import learn_recommender
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import REQUESTS

HOLD = "python3 -c 'import time; b = bytearray({mib} << 20); time.sleep(1)'"
#: goes on until something ends it; the next attempt is soon done
ONCE = '[ "$SLURM_RESTART_COUNT" ] || sleep 300'
SITE = SlurmSite(
    nodes=2,
    conf=(
        "SchedulerParameters=bf_interval=2,sched_interval=2,sched_min_interval=100000",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
    ),
    partitions=(
        "PartitionName=main Nodes=ALL Default=YES PriorityTier=1 MaxTime=INFINITE State=UP",
        "PartitionName=urgent Nodes=ALL PriorityTier=9 MaxTime=INFINITE State=UP",
    ),
)


@pytest.fixture(scope="module")
def slurm(slurm_of: Callable[[SlurmSite], SlurmReferee]) -> Iterator[SlurmReferee]:
    found = slurm_of(SITE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(found.bin), prepend=":")
        yield found


def prophase(*words: str | Path) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def until_running(slurm: SlurmReferee, *jobs: str) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        if set(jobs) <= set(slurm.run("squeue", "-h", "-t", "R", "-o", "%i").stdout.split()):
            return
        time.sleep(0.2)
    pytest.fail(f"{jobs} do not run: {slurm.run('squeue').stdout}")


def shown(slurm: SlurmReferee, job: str) -> dict[str, str]:
    return fields_of(slurm.run("scontrol", "show", "job", "-o", job).stdout)


def out_of_time(slurm: SlurmReferee, job: str) -> None:
    """Let a job reach its limit; Slurm has no shorter one than a minute."""
    slurm.run("scontrol", "update", f"JobId={job}", "EndTime=now+1")


@pytest.fixture(scope="module")
def ended(slurm: SlurmReferee) -> dict[str, str]:
    """A job per kind of end -> its id."""
    ids = {
        "preempted": slurm.sbatch("-w", "n1", "--exclusive", "--mem=50M", wrap=ONCE),
        "time": slurm.sbatch("-w", "n2", "--mem=50M", "-t", "1", wrap="sleep 300"),
        "lost": slurm.sbatch("-w", "n2", "--mem=50M", "--no-requeue", wrap="sleep 300"),
        "moved": slurm.sbatch("-w", "n2", "--mem=50M", "--requeue", wrap=ONCE),
    }
    until_running(slurm, *ids.values())
    out_of_time(slurm, ids["time"])
    assert slurm.wait(ids["time"])[ids["time"]] == "TIMEOUT"
    urgent = slurm.sbatch(
        "-p", "urgent", "-w", "n1", "--exclusive", "--mem=50M", wrap="sleep 1", user="bob"
    )
    until_running(slurm, urgent)
    slurm.run("scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test")
    slurm.run("scontrol", "update", "NodeName=n2", "State=IDLE")
    slurm.wait()
    return ids


def test_every_end_is_collected_as_what_it_was(
    slurm: SlurmReferee, ended: dict[str, str], tmp_path: Path
) -> None:
    prophase("collect", "slurm", "--workspace", tmp_path / "ws")
    jobs = Workspace(tmp_path / "ws").read("jobs").set_index("job_id")
    status = jobs["status"].to_dict()
    assert status[ended["time"]] == "timeout"
    assert status[ended["lost"]] == "node_fail"
    assert (status[ended["moved"]], status[ended["moved"] + "#2"]) == ("node_fail", "completed")
    first, again = ended["preempted"], ended["preempted"] + "#2"
    assert (status[first], status[again]) == ("preempted", "completed")
    assert jobs.loc[first, "end_s"] <= jobs.loc[again, "start_s"]
    # taken once, however often they are asked for
    prophase("collect", "slurm", "--workspace", tmp_path / "ws")
    assert len(Workspace(tmp_path / "ws").read("jobs")) == len(jobs)


def cured(workspace: Path, job: str) -> dict[str, object]:
    words = ("cure", "slurm", job, "--workspace", workspace, "--format", "json")
    cures = json.loads(prophase(*words))["cures"]
    assert len(cures) == 1, cures
    found: dict[str, object] = cures[0]
    return found


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = Workspace.create(tmp_path / "ws").folder
    (folder / "prophase.toml").write_text("[cure]\ntime = true\n")
    return folder


def test_a_job_out_of_time_is_requeued_with_more(slurm: SlurmReferee, workspace: Path) -> None:
    job = slurm.sbatch("--mem=50M", "-t", "1", "-J", "slow", wrap="sleep 4")
    until_running(slurm, job)
    out_of_time(slurm, job)
    assert slurm.wait(job)[job] == "TIMEOUT"
    found = cured(workspace, job)
    assert (found["cause"], found["requeued"]) == ("time_limit", True)
    assert found["words"] == "out of time after 1 min, requeued with 2 min (1 of at most 2)"
    assert shown(slurm, job)["TimeLimit"] == "00:02:00"
    assert slurm.wait(job)[job] == "COMPLETED"


def test_memory_per_gpu_is_cured_per_node(slurm: SlurmReferee, workspace: Path) -> None:
    job = slurm.sbatch("--gpus=2", "--mem-per-gpu=30M", wrap=HOLD.format(mib=80))
    assert slurm.wait(job)[job] == "OUT_OF_MEMORY"
    found = cured(workspace, job)
    assert "killed for memory at 60 MiB, requeued with 120 MiB" in str(found["words"])
    assert slurm.wait(job)[job] == "COMPLETED"
    asked = ("sacct", "-X", "-n", "-P", "-j", job, "-o", "AllocTRES")
    assert "mem=120M" in slurm.run(*asked).stdout


def test_a_job_that_nobody_resized_gets_what_its_kind_needs(
    slurm: SlurmReferee, workspace: Path
) -> None:
    rows = range(40)
    jobs = pd.DataFrame({"job_id": [f"old{row}" for row in rows], "name": "fit"})
    jobs = jobs.assign(
        user="ann", group="nlp", queue="main", request_memory_gib=1.0, duration_s=60.0,
        memory_peak_gib=0.18, submit_s=[100.0 * row for row in rows],
    )  # fmt: skip
    learn_recommender(jobs).save(workspace / REQUESTS)
    job = slurm.sbatch("--mem=50M", "-J", "fit", wrap=HOLD.format(mib=130))
    assert slurm.wait(job)[job] == "OUT_OF_MEMORY"
    found = cured(workspace, job)
    assert found["requeued"] is True
    assert mib_of(shown(slurm, job)["MinMemoryNode"]) > 180, "not the double of 50 MiB"
    assert slurm.wait(job)[job] == "COMPLETED"


def test_a_lost_node_and_a_preemption_need_no_cure(
    slurm: SlurmReferee, ended: dict[str, str], workspace: Path
) -> None:
    for end in ("lost", "moved", "preempted"):
        words = ("cure", "slurm", ended[end], "--workspace", workspace, "--format", "json")
        assert json.loads(prophase(*words))["cures"] == []
