"""The whole loop on a real Slurm: collect, learn, resize, kill, cure, settle, digest, eta."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tools.slurm_referee import SlurmReferee, SlurmSite, why_not
from typer.testing import CliRunner

from prophase.cli.main import app
from prophase.integrations.slurm.cure import fields_of, mib_of, noted_ladder
from prophase.serve.submit.slurm_answers import ANSWERS
from prophase.trace.workspace import Workspace

ROOT = Path(__file__).parents[3]
PROPHASE = str(Path(sys.executable).parent / "prophase")
ASKED_MIB = 400
#: kind -> its user, and the memory it uses
KINDS = {"align": ("ann", 40), "train": ("ann", 60), "plot": ("bob", 50)}
POLICY = """
[submit]
mode = "set"
budget_ms = 10000
resources = ["memory"]
[submit.users.cy]
mode = "tell"
[cure]
most = 2
"""


def hold(mib: int) -> str:
    """Return a command that uses so much memory, or up to 2 MiB more in tasks of an array."""
    used = f'{mib} + int(os.environ.get("SLURM_ARRAY_TASK_ID", 0)) % 3'
    return f"python3 -c 'import os, time; b = bytearray(({used}) << 20); time.sleep(1.7)'"


def prophase(*words: str | Path) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


@dataclass(frozen=True)
class Loop:
    slurm: SlurmReferee
    workspace: Path

    def submit(self, kind: str, mib: int | None = None, *options: str) -> str:
        user, usual = KINDS[kind]
        words = [f"--mem={ASKED_MIB}M", "--job-name", kind, *options]
        return self.slurm.sbatch(*words, wrap=hold(mib or usual), user=user)

    def shown(self, job: str) -> dict[str, str]:
        return fields_of(self.slurm.run("scontrol", "show", "job", "-o", job).stdout)

    def memory_mib(self, job: str) -> float:
        # all tasks of an array are shown, each in a line
        return mib_of(self.shown(job)["MinMemoryNode"])


def _epilog(workspace: Path, log: Path) -> str:
    """Return the epilog of the site: the shipped one, for the job of one test."""
    return f"""#!/bin/sh
[ "$SLURM_JOB_NAME" = by-epilog ] || exit 0
PROPHASE={PROPHASE} PROPHASE_WORKSPACE={workspace} PROPHASE_CURE_LOG={log}
export PROPHASE PROPHASE_WORKSPACE PROPHASE_CURE_LOG
exec {ROOT}/deploy/slurm/epilog-slurmctld
"""


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loop]:
    """A site where 60 jobs ended without recommendation, collected and learnt from."""
    reason = why_not()
    if reason is not None:
        pytest.skip(f"no real Slurm: {reason}")
    folder = tmp_path_factory.mktemp("loop")
    plugin = folder / "job_submit.lua"
    # this machine may be busy: its speed is measured in benchmarks/speed/slurm_submit.py
    patient = "PROPHASE_SECONDS = 20\nPROPHASE_PAUSE = 0\nPROPHASE_REPORT = 0\n"
    patient += f"PROPHASE_TABLE = '{folder}/ws/{ANSWERS}'\n"
    plugin.write_text(patient + (ROOT / "deploy" / "slurm" / "job_submit.lua").read_text())
    site = SlurmSite(
        accounts={"nlp": ("ann", "cy"), "bio": ("bob",)},
        conf=(
            "SchedulerParameters=bf_interval=2,sched_interval=2,sched_min_interval=100000",
            "EpilogSlurmctld=/etc/slurm/epilog",
        ),
        files={"epilog": _epilog(folder / "ws", folder / "cure.log")},
        job_submit=plugin,
    )
    with pytest.MonkeyPatch.context() as patch, SlurmReferee(site) as slurm:
        patch.setenv("PATH", str(slurm.bin), prepend=":")
        held = Loop(slurm, folder / "ws")
        # nobody answers yet: jobs go through unchanged
        for kind in KINDS:
            held.submit(kind, None, "--array=1-20")
        assert set(slurm.wait().values()) == {"COMPLETED"}
        prophase("collect", "slurm", "--workspace", held.workspace)
        prophase("learn", held.workspace)
        (held.workspace / "prophase.toml").write_text(POLICY)
        slurm.spawn(PROPHASE, "serve", str(held.workspace), "--open", log="serve.out")
        asked = ("curl", "-sf", "http://127.0.0.1:8765/readyz")
        until = time.monotonic() + 90
        while slurm.run(*asked, check=False).returncode and time.monotonic() < until:
            time.sleep(0.2)
        while not (held.workspace / ANSWERS).exists() and time.monotonic() < until:
            time.sleep(0.2)
        yield held


def test_what_was_collected_is_what_ran(loop: Loop) -> None:
    jobs = Workspace(loop.workspace).read("jobs")
    assert len(jobs) == 60
    assert jobs["memory_peak_gib"].notna().sum() >= 55
    assert jobs.groupby("group").size().to_dict() == {"bio": 20, "nlp": 40}
    assert (jobs["request_memory_gib"] == ASKED_MIB / 1024).all()


def test_the_loop_closes(loop: Loop, tmp_path: Path) -> None:
    slurm, workspace = loop.slurm, loop.workspace
    advice = tmp_path / "recommendation.json"
    advice.write_text(prophase("size", workspace, "--format", "json"))
    prophase("ledger", "add", advice, "--workspace", workspace)
    first = loop.submit("train")
    given = loop.memory_mib(first)
    assert given < ASKED_MIB
    note = loop.shown(first)["AdminComment"]
    rungs = noted_ladder(note, "memory")
    assert rungs[0] == given
    assert rungs[-1] >= ASKED_MIB
    # one needs more than the first rung and less than the second
    large = loop.submit("train", int((rungs[0] + min(rungs[1], ASKED_MIB)) / 2))
    others = [loop.submit(kind) for kind in ("align", "align", "plot", "plot")]
    arrays = [loop.submit(kind, None, "--array=1-8") for kind in KINDS]
    resized = [loop.memory_mib(job) for job in [large, *others, *arrays]]
    assert max(resized) < ASKED_MIB, "all of the next 30 jobs are resized"
    ended = slurm.wait()
    assert ended[large] == "OUT_OF_MEMORY"
    assert sum(end == "COMPLETED" for end in ended.values()) == 60 + 29
    # the collector sees the kill before it is cured
    prophase("collect", "slurm", "--workspace", workspace)
    cures = json.loads(prophase("cure", "slurm", "--workspace", workspace, "--format", "json"))
    (cure,) = cures["cures"]
    assert (cure["job"], cure["cause"], cure["requeued"]) == (large, "host_memory", True)
    assert f"requeued with {rungs[1]:.0f} MiB" in cure["words"]
    again = loop.shown(large)
    assert mib_of(again["MinMemoryNode"]) == rungs[1]
    assert "killed for memory" in again["AdminComment"]
    assert prophase("cure", "slurm", "--workspace", workspace).startswith("0 of 0")
    assert slurm.wait(large)[large] == "COMPLETED"
    prophase("collect", "slurm", "--workspace", workspace)
    jobs = Workspace(workspace).read("jobs").set_index("job_id")
    assert len(jobs) == 60 + 30 + 1
    assert jobs.loc[[large, f"{large}#2"], "status"].tolist() == ["oom", "completed"]
    settled = json.loads(prophase("ledger", "settle", workspace, "--format", "json"))
    (row,) = settled["advices"] if "advices" in settled else settled["rows"]
    assert row["killed"] == 1
    assert row["followed"] >= 28
    assert row["saved_h"] > 0
    told = prophase("digest", workspace, "--whose", "ann")
    assert "1 attempt killed for memory; 1 of them were requeued with more and completed" in told
    assert "Recommendations saved" in told
    assert "bio" in prophase("digest", workspace, "--accounts", "--format", "markdown")
    _forecast_before_it_starts(loop)


def _forecast_before_it_starts(loop: Loop) -> None:
    """A job waits behind one that holds all nodes: when it starts is said before it does."""
    slurm, whole = loop.slurm, ("-N4", "--exclusive", "-t10")
    ahead = slurm.sbatch(*whole, "-J", "align", wrap="sleep 600", user="ann")
    pending = slurm.sbatch(*whole, "-J", "plot", wrap="true", user="bob")
    until = time.monotonic() + 60
    while loop.shown(ahead)["JobState"] != "RUNNING" and time.monotonic() < until:
        time.sleep(0.2)
    words = ("queue", "eta", pending, "--history", loop.workspace, "--format", "json")
    found = json.loads(prophase(*words))
    assert loop.shown(pending)["JobState"] == "PENDING"
    assert found["running"] == 1
    low, middle, high = (found[name] for name in ("p10_s", "p50_s", "p90_s"))
    assert 0 <= low <= middle <= high <= 660, found
    slurm.run("scancel", ahead)
    assert slurm.wait(pending)[pending] == "COMPLETED"


def test_every_door_says_the_same_of_a_script(loop: Loop) -> None:
    slurm = loop.slurm
    script = slurm.home("ann") / "plot.sbatch"
    lines = ["#!/bin/sh", "#SBATCH --job-name=align --ntasks=1", f"#SBATCH --mem={ASKED_MIB}M"]
    script.write_text("\n".join([*lines, hold(40)]) + "\n")
    script.chmod(0o644)
    submitted = slurm.run("sbatch", "--parsable", "--hold", str(script), user="ann")
    assert "instead of 400 MiB" in submitted.stderr
    job = submitted.stdout.strip()
    by_plugin = loop.memory_mib(job)
    slurm.run("scancel", job)
    words = ["sbatch", script, "--workspace", loop.workspace, "--set", "user=ann"]
    found = json.loads(prophase(*words, "--format", "json"))
    by_command = {one["option"]: one["value"] for one in found["advised"]}["mem"]
    assert by_command == f"{by_plugin:.0f}M", "without -A"

    def over_http(path: str, *words: str) -> str:
        return slurm.run("curl", "-sf", *words, f"http://127.0.0.1:8765{path}").stdout

    user = {"user_name": "ann", "account": "nlp", "partition": "main"}
    body = json.dumps({"script": script.read_text(), "job": user})
    as_json = ("-H", "Content-Type: application/json", "-d", body)
    by_service = json.loads(over_http("/v1/submit/slurm", *as_json))
    assert by_service["job"] == {"mem": by_command}
    with_user = script.read_text().replace("--ntasks=1", "--ntasks=1 --account=nlp")
    (slurm.home("root") / "pasted").write_text(with_user)
    page = over_http("/ask/file", "--data-urlencode", f"file@{slurm.home('root') / 'pasted'}")
    # a pasted script does not say whose it is, and nothing is taken from others
    assert "data-mib=" not in page
    assert "--mem" in over_http("/metrics") or "prophase_slurm_jobs_total" in over_http("/metrics")


def test_wishes_of_users_and_rules_of_the_site_are_kept(loop: Loop) -> None:
    off = loop.submit("align", 40, "--comment=prophase=off", "--hold")
    assert loop.memory_mib(off) == ASKED_MIB
    assert "Comment=prophase=off" in loop.slurm.run("scontrol", "show", "job", off).stdout
    told = loop.slurm.run(
        "sbatch", "--parsable", "--hold", f"--mem={ASKED_MIB}M", "-J", "align", "--wrap", "true",
        user="cy",
    )  # fmt: skip
    # nobody of that name has run it for this user
    assert loop.memory_mib(told.stdout.strip()) == ASKED_MIB
    loop.slurm.run("scancel", off, told.stdout.strip())
    log = loop.slurm.text_of("slurmctld")
    assert re.search(r"prophase: train of ann: pn_min_memory=\d+", log)
    assert re.search(r"since start: .*opted out \d+.*set from table \d+", log)


def test_out_of_gpu_memory_gets_a_note_and_no_requeue(loop: Loop) -> None:
    slurm = loop.slurm
    job = slurm.sbatch(
        "--mem=50M", "-J", "gpu", wrap="echo torch.OutOfMemoryError: CUDA out of memory; exit 1"
    )
    assert slurm.wait(job)[job] == "FAILED"
    cured = json.loads(
        prophase("cure", "slurm", job, "--workspace", loop.workspace, "--format", "json")
    )
    (cure,) = cured["cures"]
    assert (cure["cause"], cure["requeued"]) == ("gpu_memory", False)
    noted = slurm.run("sacct", "-n", "-P", "-X", "-j", job, "-o", "AdminComment").stdout
    assert "smaller batch" in noted


def test_the_epilog_cures_a_job_that_nobody_resized(loop: Loop) -> None:
    job = loop.slurm.sbatch("--mem=50M", "-J", "by-epilog", wrap=hold(80), user="bob")
    until = time.monotonic() + 60
    while loop.shown(job).get("Restarts") != "1" and time.monotonic() < until:
        time.sleep(0.3)
    again = loop.shown(job)
    assert again["MinMemoryNode"] == "100M"
    assert "killed for memory at 50 MiB, requeued with 100 MiB" in again["AdminComment"]
    assert loop.slurm.wait(job) == {job: "COMPLETED"}


def test_a_service_that_is_away_or_has_no_model_changes_nothing(loop: Loop) -> None:
    (loop.workspace / "models" / "requests.model").rename(loop.workspace / "kept.model")
    try:
        until = time.monotonic() + 60
        while (loop.workspace / ANSWERS).exists() and time.monotonic() < until:
            time.sleep(0.2)
        job = loop.submit("align", 41, "--hold", "--time=77")
        assert loop.memory_mib(job) == ASKED_MIB
        loop.slurm.run("scancel", job)
    finally:
        (loop.workspace / "kept.model").rename(loop.workspace / "models" / "requests.model")
