"""How fast two versions of the simulator replay the same jobs, in alternation in one run.

Each version runs in a process of its own that lives through the whole comparison; rounds alternate
between them, so that other work on the machine hits both. Times are CPU seconds; checksums of the
schedules must agree before a ratio is recorded.

    git worktree add ../before <commit>
    python benchmarks/speed/simulate_versions.py ../before/src [--rounds 5] [--only skip]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from record import ROOT, Measurement, record

#: settings of simulate, on a small cluster; "why" splits the waits of a plain replay by cause
CASES: dict[str, dict[str, Any]] = {
    "skip": {},
    "strict": {"queue": "strict"},
    "random": {"place": "random"},
    "easy": {"queue": "easy", "estimate": "duration_s"},
    "conservative": {
        "queue": "conservative",
        "estimate": "duration_s",
        "backfill": "every=30s,depth=50",
    },
    "shortest remaining, preemptive": {"order": "shortest_remaining", "preempt": "on"},
    "fair share": {"order": "fair_share", "half_life_s": "1d"},
    "two jobs per GPU": {"share": "per_gpu=2,slowdown=0.28"},
    "failing nodes": {"failures": "mtbf=30d,mttr=2h"},
    "autoscaler": {"scaling": "floor=200,boot=5min,idle=10min"},
    "why": {},
}
#: fewer jobs where a pass costs more
JOBS = {
    "skip": 300_000,
    "strict": 300_000,
    "random": 300_000,
    "conservative": 15_000,
    "fair share": 40_000,
    "two jobs per GPU": 60_000,
    "failing nodes": 60_000,
    "autoscaler": 6_000,
    "why": 60_000,
}
_CHILD = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from replays import cpu_seconds, mixed_jobs
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.why.wait_split import split_waits
cluster = Cluster.uniform(400, 8)
ready = {}
for line in sys.stdin:
    name, count, settings = json.loads(line)
    if name not in ready:
        # a third of the benchmarks' cluster; gangs of up to four nodes among the jobs
        jobs = mixed_jobs(count, load=0.9 / 3)
        jobs["instances"] = np.where(np.arange(count) % 50 == 0, 4.0, 1.0)
        jobs["user"] = (np.arange(count) % 17).astype(str)
        ready[name] = Workload.from_jobs(jobs)
        few = Workload.from_jobs(jobs.head(200))
        split_waits(simulate(few, cluster, **settings)) if name == "why" else simulate(
            few, cluster, **settings)
    workload = ready[name]
    if name == "why":
        schedule = simulate(workload, cluster, **settings)
        seconds = cpu_seconds(lambda: split_waits(schedule))
        found = split_waits(schedule).cause_s.sum()
    else:
        seconds = cpu_seconds(lambda: ready.update(found=simulate(workload, cluster, **settings)))
        found = ready.pop("found").start_s.sum()
    print(json.dumps([seconds, float(found)]), flush=True)
"""
_FIRST_CALL = """
import time
import numba, numpy, pandas as pd
began = time.process_time()
from prophase.sim import Cluster, Workload, simulate
jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": [0.0, 1.0], "duration_s": [5.0, 5.0],
    "request_gpus": [1.0, 1.0]})
schedule = simulate(Workload.from_jobs(jobs), Cluster.uniform(2, 8), **SETTINGS)
if WHY:
    from prophase.sim.why.wait_split import split_waits
    split_waits(schedule)
print(time.process_time() - began)
"""
#: what is compiled, or loaded from disk, by the first call of a process
FIRST_CALLS = {"static": ({}, False), "dynamic": ({"preempt": "on"}, False), "why": ({}, True)}


def _environment(source: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source)}


def replays(versions: dict[str, Path], rounds: int, only: list[str] | None) -> None:
    """Compare whole simulations."""
    children = {
        name: subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(Path(__file__).parents[1])],
            env=_environment(source),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, source in versions.items()
    }

    def ask(name: str, case: str) -> tuple[float, float]:
        child = children[name]
        assert child.stdin is not None
        assert child.stdout is not None
        count = JOBS.get(case, 20_000)
        child.stdin.write(json.dumps([case, count, CASES[case]]) + "\n")
        child.stdin.flush()
        seconds, found = json.loads(child.stdout.readline())
        return seconds, found

    for case in only or CASES:
        times: dict[str, list[float]] = {name: [] for name in versions}
        sums = set()
        for _ in range(rounds):
            for name in versions:
                seconds, found = ask(name, case)
                times[name].append(seconds)
                sums.add(found)
        if len(sums) > 1:
            raise SystemExit(f"{case}: schedules differ, {sums}")
        best = min(times["after"]) / min(times["before"])
        data = f"{JOBS.get(case, 20_000):,} jobs, 400 x 8 GPUs, load 0.95"
        measured = (f"replay: {case}", "s", times["after"], "before", times["before"], data)
        record(Measurement(*measured, f"{best:.3f} x by the best of {rounds}"))
    for child in children.values():
        assert child.stdin is not None
        child.stdin.close()
        child.wait()


def first_calls(versions: dict[str, Path], rounds: int) -> None:
    """Compare the first call of a process, with and without compiled code on disk."""
    for case, (settings, why) in FIRST_CALLS.items():
        script = f"SETTINGS, WHY = {settings!r}, {why}\n{_FIRST_CALL}"
        cold: dict[str, list[float]] = {name: [] for name in versions}
        warm: dict[str, list[float]] = {name: [] for name in versions}
        for _ in range(rounds):
            for name, source in versions.items():
                with TemporaryDirectory() as cache:
                    fresh = {"NUMBA_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": cache}
                    for times in (cold, warm):
                        done = subprocess.run(
                            [sys.executable, "-c", script],
                            env={**_environment(source), **fresh},
                            capture_output=True,
                            text=True,
                            check=True,
                        )
                        times[name].append(float(done.stdout))
        for kind, times in (("nothing on disk", cold), ("compiled code on disk", warm)):
            named = f"first call: {case}, {kind}"
            measured = (named, "s", times["after"], "before", times["before"], "two jobs")
            record(Measurement(*measured))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("before", type=Path, help="source folder of the other version")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", choices=[*CASES, "first"], action="append")
    chosen = options.parse_args()
    versions = {"before": chosen.before.resolve(), "after": ROOT / "src"}
    cases = [case for case in chosen.only or CASES if case != "first"]
    if cases:
        replays(versions, chosen.rounds, cases)
    if not chosen.only or "first" in chosen.only:
        first_calls(versions, min(chosen.rounds, 3))


if __name__ == "__main__":
    main()
