"""How long a submission takes, with the plug-in and without, on a real Slurm.

A site with four nodes gets jobs of 60 kinds one after the other, first each kind once, then all of
them again and again as fast as the machine submits. Timed is sbatch from start to end; the same
jobs without the plug-in are the baseline, so the difference is what the plug-in adds. (The usec in
slurmctld's log does not count the plug-in.) On a busy machine that difference is mostly noise of
sbatch itself, so the plug-in is also timed alone: the shipped file in Lua 5.1, which Slurm links,
with the service's table, 100 jobs a second; --ahead lets plug-in and service run ahead of all else
on the machine, as if it were idle. What the plug-in did is in the remark. Needs root.

    python benchmarks/speed/slurm_submit.py [--jobs 600] [--alone [--ahead]]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
from tools.slurm_referee import SlurmReferee, SlurmSite, why_not

from prophase.serve.submit.slurm_answers import ANSWERS
from prophase.sizing.recommender import learn_recommender
from prophase.study.workspace_models import learn_models
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import REQUESTS
from record import ROOT, Measurement, record

KINDS, HISTORY = 60, 3_000
POLICY = '[submit]\nmode = "set"\nresources = ["memory", "time"]\n'
PLUGIN = ROOT / "deploy" / "slurm" / "job_submit.lua"
_DONE = re.compile(r"prophase: since start: (.*)")
#: submits one job after the other and prints how long each took, in ms
TIMED = """
import subprocess, sys, time
for place in range(int(sys.argv[1])):
    kind = f"kind{place % int(sys.argv[2])}"
    words = ["sbatch", "-Q", "--hold", "--mem=4G", "-t", "120", "-J", kind, "--wrap", "true"]
    began = time.perf_counter()
    subprocess.run(words, capture_output=True, check=True)
    print(1e3 * (time.perf_counter() - began))
"""


@dataclass(frozen=True)
class Submitted:
    """How long submissions took in ms, how many a second there were, what the plug-in did."""

    first: list[float]
    later: list[float]
    rate: float
    done: str


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=600)
    parser.add_argument("--alone", action="store_true", help="the plug-in without a Slurm")
    parser.add_argument("--ahead", action="store_true", help="before all else on the machine")
    options = parser.parse_args()
    if options.alone:
        plugin_alone(options.jobs, ahead=options.ahead)
        return
    reason = why_not()
    if reason is not None:
        print(f"No Slurm here: {reason}.", file=sys.stderr)
        return
    with TemporaryDirectory(prefix="prophase-bench-") as folder:
        workspace = Path(folder) / "ws"
        learnt(workspace)
        without = submitted(None, None, options.jobs)
        asked = submitted(PLUGIN, workspace, options.jobs)
        away = submitted(PLUGIN, None, options.jobs)
    if "set" not in asked.done:
        print(f"Not recorded: the plug-in answered nobody ({asked.done}).", file=sys.stderr)
        return
    data = f"{KINDS} kinds of synthetic jobs, Slurm on this machine"
    parts = {
        "first question of a kind": (asked.first, without.first, asked, 50),
        "the same kind afterwards": (asked.later, without.later, asked, 10),
        "the service is away": (away.later, without.later, away, 10),
    }
    for name, (found, base, run, wanted) in parts.items():
        for share in (50, 99):
            value, usual = (float(np.percentile(held, share)) for held in (found, base))
            remark = (
                f"adds {value - usual:.1f} ms where at most {wanted} are wanted; "
                f"{run.rate:.0f} submissions a second, one after the other; {run.done}"
            )
            record(
                Measurement(
                    f"sbatch, {name}, p{share}", "ms", [value], "without the plug-in", [usual],
                    data, remark,
                )
            )  # fmt: skip


#: takes the name of a job per line; answers with what was done and the processor time it took in s
LOOP = """
slurm = { SUCCESS = 0, log_user = function() end, log_info = function() end }
dofile(SCRIPT)
io.stdout:setvbuf("line")
for name in io.lines() do
   local job = { name = name, user_name = "ann", default_account = "nlp", partition = "main",
                 min_nodes = 1, num_tasks = 1, min_mem_per_node = 4096, time_limit = 120 }
   local began = os.clock()
   local outcome = prophase_recommend(job, {}, 1000)
   print(outcome, os.clock() - began)
end
"""


def _run_ahead(*processes: int) -> None:
    """Let all threads of these processes run before whatever else the machine does."""
    for process in processes:
        for thread in Path(f"/proc/{process}/task").iterdir():
            os.sched_setscheduler(int(thread.name), os.SCHED_RR, os.sched_param(1))


def plugin_alone(jobs: int, *, ahead: bool = False) -> None:
    """Time the plug-in in a process of its own: with its table, with the service, with nobody."""
    parts = {"60 kinds": 60, "2,000 kinds": 2_000}
    for said, kinds in parts.items():
        with TemporaryDirectory(prefix="prophase-bench-") as folder:
            workspace = Path(folder) / "ws"
            learnt(workspace, kinds=kinds, history=max(HISTORY, 8 * kinds), whole=False)
            port = 18765
            program = str(Path(sys.executable).parent / "prophase")
            serve = [program, "serve", str(workspace), "--open"]
            service = subprocess.Popen(
                [*serve, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                while not (workspace / ANSWERS).exists():
                    time.sleep(0.2)
                time.sleep(5)
                if ahead:
                    _run_ahead(service.pid, os.getpid())
                url = f"http://127.0.0.1:{port}/v1/submit/slurm"
                ways = {"from the table": (workspace / ANSWERS, url)}
                if kinds == KINDS:
                    ways["asked of the service"] = (Path("/none"), url)
                    ways["the service is away"] = (Path("/none"), "http://127.0.0.1:1/")
                for way, (table, address) in ways.items():
                    _paced(f"plug-in alone, {way}", said, kinds, jobs, (table, address))
            finally:
                os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
                service.terminate()
                service.wait(60)


def _paced(name: str, said: str, kinds: int, jobs: int, where: tuple[Path, str]) -> None:
    """Give a plug-in 100 jobs a second, and record how long each took."""
    table, url = where
    head = f"PROPHASE_TABLE, PROPHASE_URL, SCRIPT = '{table}', '{url}', '{PLUGIN}'\n"
    lua = subprocess.Popen(
        ["lua5.1", "-e", head + LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert lua.stdin is not None
    assert lua.stdout is not None
    waited: list[float] = []
    spent: list[float] = []
    done: dict[str, int] = {}
    start = time.perf_counter()
    # first every kind once, or as many as there are jobs, then the same again
    first = min(kinds, jobs)
    for place in range(first + jobs):
        due = start + place / 100
        time.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        lua.stdin.write(f"kind{place % first}\n")
        lua.stdin.flush()
        outcome, processor_s = lua.stdout.readline().rstrip("\n").split("\t")
        waited.append(1e3 * (time.perf_counter() - began))
        spent.append(1e3 * float(processor_s))
        done[outcome] = done.get(outcome, 0) + 1
    rate = (first + jobs) / (time.perf_counter() - start)
    lua.stdin.close()
    lua.wait()
    counts = ", ".join(f"{outcome} {number}" for outcome, number in sorted(done.items()))
    for part, held, own, wanted in (
        ("first of a kind", waited[:first], spent[:first], 50),
        ("afterwards", waited[first:], spent[first:], 10),
    ):
        for share in (50, 99):
            remark = (
                f"at most {wanted} are wanted; processor time of Lua "
                f"{float(np.percentile(own, share)):.2f} ms; {rate:.0f} jobs a second; {counts}"
            )
            value = float(np.percentile(held, share))
            record(
                Measurement(f"{name}, {part}, p{share}", "ms", [value], data=said, remark=remark)
            )


def learnt(
    workspace: Path, *, kinds: int = KINDS, history: int = HISTORY, whole: bool = True
) -> None:
    """Make a workspace whose models know every kind."""
    random, kind = np.random.default_rng(0), np.arange(history) % kinds
    jobs = pd.DataFrame({"job_id": [str(place) for place in range(history)]})
    jobs["name"] = [f"kind{one}" for one in kind]
    jobs["user"], jobs["group"], jobs["queue"] = "ann", "nlp", "main"
    jobs["submit_s"] = 1.79e9 + 800.0 * np.arange(history)
    jobs["status"], jobs["instances"], jobs["request_cpu_cores"] = "completed", 1.0, 1.0
    jobs["request_memory_gib"], jobs["time_limit_s"], jobs["request_gpus"] = 4.0, 7200.0, 0.0
    jobs["duration_s"] = (300.0 + 10 * (kind % 60)) * random.lognormal(0, 0.2, history)
    jobs["memory_peak_gib"] = (0.5 + kind % 60 / 100) * random.lognormal(0, 0.05, history)
    jobs["start_s"] = jobs["submit_s"] + 60.0
    jobs["end_s"] = jobs["start_s"] + jobs["duration_s"]
    Workspace.create(workspace).store_frames({"jobs": jobs}, source="sacct", source_hash="bench")
    if whole:
        learn_models(workspace)
    else:
        held = Workspace(workspace).read("jobs")
        learn_recommender(held).save(workspace / REQUESTS)
    (workspace / "prophase.toml").write_text(POLICY)


def submitted(plugin: Path | None, workspace: Path | None, jobs: int) -> Submitted:
    """Submit jobs at a site, with or without plug-in and service."""
    with TemporaryDirectory(prefix="prophase-bench-") as folder:
        shown = None
        if plugin is not None:
            # what it did is written after every job, so that the last line has all of them
            shown = Path(folder) / "job_submit.lua"
            ready = f"PROPHASE_TABLE = '{workspace}/{ANSWERS}'\n" if workspace else ""
            shown.write_text("PROPHASE_REPORT = 0\n" + ready + plugin.read_text())
        with SlurmReferee(SlurmSite(job_submit=shown)) as slurm:
            if workspace is not None:
                program = str(Path(sys.executable).parent / "prophase")
                slurm.spawn(program, "serve", str(workspace), "--open", log="serve.out")
                ready = ("curl", "-sf", "http://127.0.0.1:8765/readyz")
                while slurm.run(*ready, check=False).returncode:
                    time.sleep(0.2)
                time.sleep(5)  # it warms up

            def timed(count: int) -> list[float]:
                words = ("python3", "-c", TIMED, str(count), str(KINDS))
                said = slurm.run(*words, user="ann", timeout=600).stdout
                return [float(line) for line in said.split()]

            first, later = timed(KINDS), timed(jobs)
            told = _DONE.findall((slurm.log / "slurmctld.log").read_text())
    return Submitted(first, later, 1e3 * jobs / sum(later), told[-1] if told else "no plug-in")


if __name__ == "__main__":
    main()
