"""What is collected from a real Slurm is what happened there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from tools.slurm_referee import SlurmReferee

from prophase.errors import FetchError
from prophase.integrations.slurm.accounting import parsed
from prophase.integrations.slurm.collector import SlurmCollector
from prophase.integrations.slurm.commands import SlurmCommands
from prophase.integrations.slurm.rest import SlurmRest
from prophase.integrations.slurm.site import why_no_memory
from prophase.trace import open_trace
from prophase.trace.collect.collection import collect
from prophase.trace.readers.sacct_json import FIELDS, SEPARATOR
from prophase.trace.workspace import Workspace

PROPHASE = str(Path(sys.executable).parent / "prophase")
HOLD = "python3 -c 'import time; b = bytearray({mib} << 20); time.sleep(2.5)'"


@pytest.fixture(autouse=True)
def programs(real_slurm: SlurmReferee, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have sacct and its like talk to the real Slurm."""
    monkeypatch.setenv("PATH", str(real_slurm.bin), prepend=":")


@pytest.fixture(scope="module")
def history(real_slurm: SlurmReferee) -> dict[str, str]:
    """Jobs of all kinds, ended; what they are called -> their ids."""
    until_running = ("squeue", "-h", "-o", "%T", "-j")
    ids = {
        "several nodes": real_slurm.sbatch("-n16", "--mem=300M", wrap="srun sleep 1\ntrue"),
        "requeued": real_slurm.sbatch("--requeue", "--mem=200M", wrap=HOLD.format(mib=60)),
        "array": real_slurm.sbatch(
            "--array=1-2", "--mem-per-cpu=50M", "-c2", "--comment=a|b", wrap="sleep 1"
        ),
        "killed": real_slurm.sbatch("--mem=50M", wrap=HOLD.format(mib=90), user="bob"),
        "gpus": real_slurm.sbatch("--gpus=2", "--mem-per-gpu=100M", wrap="sleep 1", user="bob"),
    }
    het = ("sbatch", "--parsable", "-n1", "--mem=50M", ":", "-n2", "--mem=60M", "--wrap", "sleep 1")
    ids["heterogeneous"] = real_slurm.run(*het, user="bob").stdout.strip()
    ids["cancelled"] = real_slurm.sbatch(wrap="sleep 60")
    real_slurm.run("scancel", ids["cancelled"])
    for _ in range(200):
        if "RUNNING" in real_slurm.run(*until_running, ids["requeued"]).stdout:
            break
        time.sleep(0.1)
    time.sleep(1.5)
    real_slurm.run("scontrol", "requeue", ids["requeued"])
    real_slurm.wait()
    return ids


def collected(collector: SlurmCollector, folder: Path) -> pd.DataFrame:
    collect(collector, Workspace.prepare(folder))
    return Workspace(folder).read("jobs").set_index("job_id")


def test_every_kind_of_job_comes_as_it_was(
    real_slurm: SlurmReferee, history: dict[str, str], tmp_path: Path
) -> None:
    jobs = collected(SlurmCollector(), tmp_path / "ws")
    wide = jobs.loc[history["several nodes"]]
    assert (wide["instances"], wide["request_cpu_cores"]) == (2.0, 8.0)
    assert wide["request_memory_gib"] == pytest.approx(300 / 1024)
    again, first = jobs.loc[history["requeued"] + "#2"], jobs.loc[history["requeued"]]
    assert (first["status"], again["status"]) == ("preempted", "completed")
    assert first["end_s"] <= again["submit_s"] + 1
    assert 0.05 < again["memory_peak_gib"] < 0.2
    for task in ("_1", "_2"):
        one = jobs.loc[history["array"] + task]
        assert (one["parent_id"], one["request_memory_gib"]) == (history["array"], 100 / 1024)
    killed = jobs.loc[history["killed"]]
    assert (killed["status"], killed["user"], killed["group"]) == ("oom", "bob", "bio")
    gpus = jobs.loc[history["gpus"]]
    assert (gpus["request_gpus"], gpus["request_memory_gib"]) == (2.0, 200 / 1024)
    assert jobs.loc[history["heterogeneous"] + "+1", "request_cpu_cores"] == 2.0
    assert jobs.loc[history["cancelled"], "status"] == "cancelled"
    held = Workspace(tmp_path / "ws")
    nodes = held.read("nodes")
    assert nodes[["cpu_cores", "gpus"]].drop_duplicates().to_numpy().tolist() == [[8.0, 4.0]]
    assert held.read("partitions")["partition"].tolist() == ["main"]
    assert {"nlp", "bio"} <= set(held.read("shares")["group"])


def test_slurmrestd_and_json_tell_the_same(
    real_slurm: SlurmReferee, history: dict[str, str], tmp_path: Path
) -> None:
    rest = SlurmRest(real_slurm.rest_url, "ann", real_slurm.token("ann"))
    ours = collected(SlurmCollector(), tmp_path / "a")
    theirs = real_slurm.in_network(lambda: collected(SlurmCollector(rest=rest), tmp_path / "b"))
    written = tmp_path / "sacct.json"
    written.write_text(real_slurm.run("sacct", "-aD", "-S", "now-1hour", "--json").stdout)
    filed = open_trace(written).jobs.set_index("job_id")
    columns = (
        "name user group queue submit_s start_s end_s status instances request_cpu_cores "
        "request_memory_gib request_gpus time_limit_s memory_peak_gib"
    ).split()
    # a column that no job has a word for may be missing
    ours, *others = (one.reindex(columns=columns).sort_index() for one in (ours, theirs, filed))
    for other in others:
        pd.testing.assert_frame_equal(ours, other, atol=0.001, check_dtype=False)


def test_a_token_that_expired_is_named_and_nothing_changes(
    real_slurm: SlurmReferee, tmp_path: Path
) -> None:
    rest = SlurmRest(real_slurm.rest_url, "ann", real_slurm.token("ann", lifespan_s=1))
    time.sleep(2.2)
    with pytest.raises(FetchError, match=r"may have expired.*scontrol token"):
        real_slurm.in_network(lambda: collected(SlurmCollector(rest=rest), tmp_path / "ws"))
    assert not (tmp_path / "ws").exists()
    with pytest.raises(FetchError, match="slurmrestd does not answer"):
        collected(SlurmCollector(rest=SlurmRest("http://127.0.0.1:1", "ann", "x")), tmp_path / "ws")


def test_the_command_collects_and_says_what_is_next(
    real_slurm: SlurmReferee, history: dict[str, str], tmp_path: Path
) -> None:
    words = [PROPHASE, "collect", "slurm", "--workspace", str(tmp_path / "ws")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "new jobs of slurm" in done.stdout
    assert "Next: prophase learn" in done.stdout


def test_a_controller_that_is_away_loses_nothing(
    real_slurm: SlurmReferee, history: dict[str, str], tmp_path: Path
) -> None:
    held = Workspace.prepare(tmp_path / "ws")
    real_slurm.stop("slurmctld")
    try:
        found = collect(SlurmCollector(SlurmCommands(timeout_s=30)), held)
    finally:
        real_slurm.start("slurmctld")
    assert found.new >= 9
    assert any("stay as they were" in note and "slurmctld" in note for note in found.notes)
    real_slurm.stop("slurmdbd")
    try:
        with pytest.raises(FetchError, match="slurmdbd does not answer"):
            collect(SlurmCollector(), held)
    finally:
        real_slurm.start("slurmdbd")
    assert len(held.read("jobs")) == found.jobs


def test_output_that_breaks_off_is_refused_as_a_whole() -> None:
    names = FIELDS[:3]
    row = SEPARATOR.join
    whole = "\n".join([row(names), row("123"), row(["4", "a\nb", "6"]), ""])
    assert [one["JobIDRaw"] for one in parsed(whole, names)] == ["2", "a b"]
    for cut in (whole[:-1], whole[:-2], whole[:4], "", row(names), whole + "7\n"):
        with pytest.raises(FetchError, match="Nothing was taken"):
            list(parsed(cut, names))


def test_a_site_that_records_no_memory_is_told_what_to_change() -> None:
    for kind in ("jobacct_gather/none", ""):
        assert "JobAcctGatherType=jobacct_gather/cgroup" in str(
            why_no_memory({"jobacctgathertype": kind})
        )
    sampled = {"jobacctgathertype": "jobacct_gather/linux", "jobacctgatherfrequency": "30"}
    assert why_no_memory(sampled) is None
    assert "task=0" in str(why_no_memory({**sampled, "jobacctgatherfrequency": "task=0"}))


def test_without_slurm_the_message_names_the_two_ways(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FetchError, match=r"login node.*--rest"):
        SlurmCommands().said("sacct", "-e")
    assert os.environ["PATH"] == str(tmp_path)
