"""How fast the simulator is, against SimPy, Ciw and a plain Python event loop.

All of them serve the same 200,000 customers of an M/M/50 queue in this process, and their
mean waits must agree before a ratio is recorded. Times are CPU seconds, so that other work
on the machine does not count; wall time stands in the remarks.

    python benchmarks/speed/simulate_speed.py [--repeats 3] [--largest 10000000] [--only PART]
        [--accasim PYTHON]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from baselines import accasim_wait, ciw_waits, heap_waits, simpy_waits
from prophase.papers.openb.protocol import POLICIES, arrival_order, simulate_openb
from prophase.papers.pai_sim.simulator import simulate_pai
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.place.best_fit import best_fit
from prophase.sim.static_loop import PlaceSettings, run_static_loop
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record
from replays import GPUS, NODES, cpu_seconds, kernel_seconds, mixed_jobs

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
CUSTOMERS, SERVERS = 200_000, 50
#: a child process, so that its peak memory is its own
_MILLION = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from replays import GPUS, NODES, cpu_seconds, kernel_seconds, mixed_jobs, peak_mib
from prophase.sim import Cluster, Workload, simulate
cluster = Cluster.uniform(NODES, GPUS)
simulate(Workload.from_jobs(mixed_jobs(1000)), cluster)
before = peak_mib()
jobs = mixed_jobs(int(sys.argv[2]))
table = peak_mib()
workload = Workload.from_jobs(jobs)
began = time.perf_counter()
with kernel_seconds() as inside:
    s = cpu_seconds(lambda: globals().update(found=simulate(workload, cluster)))
wall = time.perf_counter() - began
print(json.dumps({"s": s, "wall_s": wall, "kernel_s": sum(inside), "mib": peak_mib(),
    "imports_mib": before, "table_mib": table, "wait_s": float(found.wait_s.mean())}))
"""
#: a sweep of replays that take seconds, by so many workers; a process of its own, as a command is
_SWEEP = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
from replays import NODES, mixed_jobs
from prophase.sim import Workload
from prophase.sim.sweep.plan import SweepPlan
from prophase.sim.sweep.runner import run_sweep
nodes = 100
workload = Workload.from_jobs(mixed_jobs(200_000, load=nodes / NODES))
plan = SweepPlan(
    ["100x8", "101x8", "102x8", "104x8"],
    {"queue": ["easy"], "estimate": ["duration_s"], "order": ["fifo", "shortest"]},
    seeds=1,
)
began = time.perf_counter()
result = run_sweep(workload, plan, workers=int(sys.argv[2]))
print(json.dumps({"wall_s": time.perf_counter() - began, "cells": len(result.cells)}))
"""
#: compiled code is made, or loaded from disk, while the simulator is imported: count that, too
_FIRST_CALL = """
import json, time
import numba, numpy, pandas as pd
loaded, cpu = time.perf_counter(), time.process_time()
from prophase.sim import Cluster, Workload, simulate
jobs = pd.DataFrame({"job_id": ["a", "b"], "submit_s": [0.0, 1.0], "duration_s": [5.0, 5.0],
    "request_gpus": [1.0, 1.0]})
simulate(Workload.from_jobs(jobs), Cluster.uniform(2, 8))
print(json.dumps({"libraries_s": cpu, "call_s": time.process_time() - cpu,
    "wall_s": time.perf_counter() - loaded}))
"""


def against_others(repeats: int) -> None:
    """The same M/M/50 queue by four programs."""
    rng = np.random.default_rng(1)
    gaps, services = rng.exponential(1 / 45, CUSTOMERS), rng.exponential(1.0, CUSTOMERS)
    jobs = pd.DataFrame(
        {
            "job_id": np.arange(CUSTOMERS).astype(str),
            "submit_s": np.cumsum(gaps),
            "duration_s": services,
            "request_gpus": 1.0,
        }
    )
    cluster = Cluster.uniform(1, SERVERS)
    waits: dict[str, float] = {}

    def ours() -> None:
        schedule = simulate(Workload.from_jobs(jobs), cluster, queue="strict")
        waits["ours"] = float(schedule.wait_s.mean())

    listed = gaps.tolist(), services.tolist(), SERVERS
    others = {"SimPy": simpy_waits, "Ciw": ciw_waits, "plain Python event loop": heap_waits}
    rates: dict[str, list[float]] = {name: [] for name in ("ours", *others)}
    inside: list[float] = []
    ours()
    for _ in range(repeats):
        with kernel_seconds() as seconds:
            rates["ours"].append(CUSTOMERS / cpu_seconds(ours))
        inside += [CUSTOMERS / one for one in seconds]
        for name, run in others.items():
            found: list[float] = []
            rates[name].append(CUSTOMERS / cpu_seconds(lambda: found.extend(run(*listed))))  # noqa: B023
            waits[name] = float(np.mean(found))
    for name, mean in waits.items():
        if not math.isclose(mean, waits["ours"], rel_tol=1e-6):
            raise SystemExit(f"{name} waits {mean} s on average, ours {waits['ours']} s")
    data = f"M/M/{SERVERS}, load 0.9, {CUSTOMERS:,} customers; mean waits agree"
    for name in others:
        measured = ("M/M/50, table to schedule", "customers/s", rates["ours"], name, rates[name])
        record(Measurement(*measured, data))
    name = "SimPy"
    measured = ("M/M/50, compiled loop alone", "customers/s", inside, name, rates[name])
    record(Measurement(*measured, data))


def against_accasim(repeats: int, python: str | None) -> None:
    """Jobs in whole seconds by AccaSim, in the environment that has it."""
    if python is None:
        print("AccaSim: not compared: not installed; name a Python that has it with --accasim")
        return
    count, rng = 20_000, np.random.default_rng(1)
    submit = np.floor(np.cumsum(rng.exponential(60.0, count))).astype(int)
    duration = np.maximum(1, np.round(rng.exponential(60.0 * SERVERS * 0.9, count))).astype(int)
    jobs = pd.DataFrame(
        {
            "job_id": [f"{number:06}" for number in range(count)],
            "submit_s": submit.astype(float),
            "duration_s": duration.astype(float),
            "request_gpus": 1.0,
        }
    )
    cluster, found = Cluster.uniform(1, SERVERS), []

    def ours() -> None:
        schedule = simulate(Workload.from_jobs(jobs), cluster, queue="strict", place="first_fit")
        found.append(float(schedule.wait_s.mean()))

    ours()
    theirs = [accasim_wait(python, submit, duration, SERVERS) for _ in range(repeats)]
    rates = [count / cpu_seconds(ours) for _ in range(repeats)]
    if not math.isclose(theirs[0][0], found[0], rel_tol=1e-6):
        raise SystemExit(f"AccaSim waits {theirs[0][0]} s on average, ours {found[0]} s")
    data = f"M/M/{SERVERS} in whole seconds, load 0.9, {count:,} jobs; mean waits agree"
    others = [count / seconds for _, seconds in theirs]
    record(Measurement("M/M/50, table to schedule", "jobs/s", rates, "AccaSim", others, data))


def a_million_jobs(repeats: int) -> None:
    """1,200 nodes of 8 GPUs, best fit, fifo, load 1: rate and peak memory."""
    count = 1_000_000
    runs = [_child(_MILLION, str(Path(__file__).parents[1]), str(count)) for _ in range(repeats)]
    data = f"{count:,} jobs of 1 to 8 GPUs, {NODES:,} x {GPUS} GPUs, best fit, fifo, load 1.0"
    remark = f"wall {min(run['wall_s'] for run in runs):.2f} s at best"
    rates = [count / run["s"] for run in runs]
    record(Measurement("simulate, 1 million jobs", "jobs/s", rates, data=data, remark=remark))
    inside = [count / run["kernel_s"] for run in runs]
    record(
        Measurement("simulate, 1 million jobs, compiled loop alone", "jobs/s", inside, data=data)
    )
    parts = f"imports {runs[0]['imports_mib']:.0f}, with the job table {runs[0]['table_mib']:.0f}"
    memory = [run["mib"] for run in runs]
    record(
        Measurement("simulate, 1 million jobs, peak memory", "MiB", memory, data=data, remark=parts)
    )


def growth(largest: int) -> None:
    """CPU time over n log2 n as the number of jobs grows: flat or falling is n log n."""
    cluster = Cluster.uniform(NODES, GPUS)
    sizes = [size for size in (10**5, 316_000, 10**6, 3_160_000, 10**7) if size <= largest]
    for size in sizes:
        workload = Workload.from_jobs(mixed_jobs(size, load=0.95))
        arrays = (workload.submit_s, workload.duration_s, workload.asks, np.arange(size))
        with kernel_seconds() as inside:
            place = PlaceSettings(best_fit)
            whole = cpu_seconds(partial(run_static_loop, *arrays, cluster.matrix, place))
        per_job = 1e9 / (size * math.log2(size))
        data = f"{size:,} jobs, {NODES:,} x {GPUS} GPUs, load 0.95"
        named = f"growth, {size:,} jobs"
        for part, seconds in (("compiled loop", inside[0]), ("with set-up", whole)):
            measured = (f"{named}, {part}", "ns per n log2 n", [seconds * per_job])
            record(Measurement(*measured, data=data, remark=f"{seconds:.2f} s"))


def pai_preset(repeats: int) -> None:
    """20,000 Philly jobs on 600 GPUs by the rules of Alibaba's simulator."""
    path = DATA / "pai_sim" / "philly20k.csv.gz"
    if path.exists():
        jobs, data = open_trace(path, source="pai-sim").jobs, "first 20,000 Philly jobs, 600 GPUs"
    else:
        jobs, data = _philly_like(20_000), "20,000 synthetic jobs like Philly's, 600 GPUs"
    for order in ("fifo", "shortest"):
        simulate_pai(jobs, gpus=600, order=order)
        whole, inside = [], []
        for _ in range(repeats):
            with kernel_seconds() as seconds:
                whole.append(cpu_seconds(lambda: simulate_pai(jobs, gpus=600, order=order)))  # noqa: B023
            inside += seconds
        record(Measurement(f"semantics pai, {order}, compiled loop", "s", inside, data=data,
                           remark=f"with set-up and averages {min(whole):.3f} s"))  # fmt: skip


def _philly_like(count: int) -> pd.DataFrame:
    """Make bursts of long-tailed jobs."""
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "job_id": np.arange(count).astype(str),
            "submit_s": np.floor(np.cumsum(rng.lognormal(1.0, 2.4, count))),
            "duration_s": np.ceil(rng.lognormal(6.8, 2.3, count)),
            "request_gpus": rng.choice([1.0, 2.0, 4.0, 8.0], count, p=[0.84, 0.05, 0.06, 0.05]),
            "instances": 1.0,
        }
    )


def openb_runs(repeats: int) -> None:
    """One published fragmentation experiment per policy."""
    pods = DATA / "openb" / "openb_pod_list_default.csv"
    if not pods.exists():
        print("openb: left out, its lists are not here; set PROPHASE_DATA")
        return
    jobs = open_trace(pods, source="openb").jobs
    nodes = open_trace(pods.parent / "openb_node_list_gpu_node.csv", source="openb").nodes
    order, rank = arrival_order(pods.parent / "arrival_orders.npz", pods, 42)
    for place in POLICIES:
        chosen = {"arrivals": order, "node_rank": rank, "place": place, "seed": 42}
        simulate_openb(jobs, nodes, **chosen)
        whole, inside = [], []
        for _ in range(repeats):
            with kernel_seconds() as seconds:
                whole.append(cpu_seconds(lambda: simulate_openb(jobs, nodes, **chosen)))  # noqa: B023
            inside += seconds
        data = f"openb default list, seed 42, {len(order):,} arrivals on {len(nodes):,} nodes"
        record(Measurement(f"openb, {place}", "s", whole, data=data,
                           remark=f"of which placement {min(inside):.3f} s"))  # fmt: skip


#: rules that only the live loop follows, on a smaller cluster
_RULES: dict[str, dict[str, Any]] = {
    "conservative": {"queue": "conservative", "estimate": "duration_s"},
    "conservative every 30 s, 100 deep": {
        "queue": "conservative",
        "estimate": "duration_s",
        "backfill": "every=30s,depth=100",
    },
    "two jobs per GPU, slowed": {"share": "per_gpu=2,slowdown=0.28"},
    "failing nodes": {"failures": "mtbf=30d,mttr=2h"},
}


#: orders whose keys move while jobs wait or run
_ORDERS: dict[str, dict[str, Any]] = {
    "shortest remaining, preemptive": {"order": "shortest_remaining", "preempt": "on"},
    "least attained, preemptive every minute": {
        "order": "least_attained",
        "preempt": "every=60s",
    },
    "least attained GPU time, preemptive every minute": {
        "order": "least_attained_gpu",
        "preempt": "every=60s",
    },
    "Tiresias, preemptive": {"order": "tiresias", "preempt": "on"},
    "fair share": {"order": "fair_share", "half_life_s": "1d"},
}


def moving_orders(repeats: int) -> None:
    """What orders whose keys move cost beside the plain replay, at capacity and above it."""
    nodes, count = 400, 20_000
    cluster = Cluster.uniform(nodes, GPUS)
    for load in (1.0, 1.05):
        workload = Workload.from_jobs(mixed_jobs(count, load=load * nodes / NODES))
        simulate(workload, cluster)
        plain = [cpu_seconds(lambda: simulate(workload, cluster)) for _ in range(5)]  # noqa: B023
        data = f"{count:,} jobs of 1 to 8 GPUs, {nodes} x {GPUS} GPUs, load {load}"
        for name, settings in _ORDERS.items():
            starts = len(simulate(workload, cluster, **settings).attempts.job)
            seconds = [
                cpu_seconds(lambda: simulate(workload, cluster, **settings))  # noqa: B023
                for _ in range(repeats)
            ]
            each = min(seconds) / min(plain) * count / starts
            remark = f"{starts / count:.1f} starts per job; {each:.1f} x by start"
            record(Measurement(f"order: {name}", "s", seconds, "plain replay", plain, data, remark))


def rules_of_a_cluster(repeats: int) -> None:
    """What each rule costs beside the plain replay of the same jobs."""
    nodes, count = 400, 20_000
    workload = Workload.from_jobs(mixed_jobs(count, load=nodes / NODES))
    cluster = Cluster.uniform(nodes, GPUS)
    for settings in _RULES.values():
        simulate(Workload.from_jobs(mixed_jobs(200)), cluster, **settings)
    plain = [cpu_seconds(lambda: simulate(workload, cluster)) for _ in range(repeats)]
    data = f"{count:,} jobs of 1 to 8 GPUs, {nodes} x {GPUS} GPUs, load 1.0"
    for name, settings in _RULES.items():
        seconds = [
            cpu_seconds(lambda: simulate(workload, cluster, **settings))  # noqa: B023
            for _ in range(repeats)
        ]
        record(Measurement(f"rule: {name}", "s", seconds, "plain replay", plain, data))


def queue_disciplines(repeats: int) -> None:
    """What strict order and backfilling cost beside skipping."""
    workload = Workload.from_jobs(mixed_jobs(100_000, load=1.0))
    cluster = Cluster.uniform(NODES, GPUS)
    simulate(Workload.from_jobs(mixed_jobs(200)), cluster, queue="easy", estimate="duration_s")
    seconds: dict[str, list[float]] = {"skip": [], "strict": [], "easy": []}
    for _ in range(repeats):
        for queue, times in seconds.items():
            times.append(
                cpu_seconds(
                    lambda: simulate(workload, cluster, queue=queue, estimate="duration_s")  # noqa: B023
                )
            )
    data = f"100,000 jobs of 1 to 8 GPUs, {NODES:,} x {GPUS} GPUs, load 1.0"
    for queue in ("strict", "easy"):
        measured = (f"queue {queue}", "s", seconds[queue], "queue skip", seconds["skip"])
        record(Measurement(*measured, data))


def many_shapes(repeats: int) -> None:
    """An overloaded queue in which nearly every request is another one."""
    count, load = 100_000, 2.0
    jobs, rng = mixed_jobs(count, load=load), np.random.default_rng(5)
    jobs["request_cpu_cores"] = rng.integers(1, 96, count) * jobs["request_gpus"] / 8
    jobs["request_memory_gib"] = 3.0 * rng.integers(1, 15, count) * jobs["request_gpus"]
    nodes = pd.DataFrame({"node_id": [f"node-{n}" for n in range(NODES)], "gpus": float(GPUS)})
    cluster = Cluster.from_nodes(nodes.assign(cpu_cores=96.0, memory_gib=400.0))
    workload = Workload.from_jobs(jobs)
    shapes = len(np.unique(workload.asks, axis=0))
    few = Workload.from_jobs(mixed_jobs(count, load=load))
    data = f"{count:,} jobs of {shapes:,} shapes, {NODES:,} x {GPUS} GPUs, load {load}"
    for queue in ("skip", "strict"):
        seconds: dict[str, list[float]] = {"many": [], "few": []}
        for _ in range(repeats):
            for name, these in (("many", workload), ("few", few)):
                with kernel_seconds() as inside:
                    simulate(these, cluster, queue=queue)
                seconds[name] += inside
        measured = (f"many shapes, {queue}, compiled loop", "s", seconds["many"])
        record(Measurement(*measured, "4 shapes", seconds["few"], data))


def first_call(repeats: int) -> None:
    """The first simulation of a process, with and without compiled code on disk."""
    cold, warm = [], []
    for _ in range(repeats):
        with TemporaryDirectory() as cache:
            # both caches, as after any first run: Python's byte code and compiled code
            fresh = {
                "NUMBA_CACHE_DIR": cache,
                "PYTHONPYCACHEPREFIX": cache,
                "PYTHONDONTWRITEBYTECODE": "",
            }
            cold.append(_child(_FIRST_CALL, environment=fresh)["call_s"])
            warm.append(_child(_FIRST_CALL, environment=fresh))
    remark = (
        f"with the simulator's import, wall {min(run['wall_s'] for run in warm):.2f} s at best; "
        f"Python, numba and pandas {min(run['libraries_s'] for run in warm):.2f} s more"
    )
    seconds = [run["call_s"] for run in warm]
    measured = ("first call, compiled code on disk", "s", seconds, "nothing on disk", cold)
    record(Measurement(*measured, "two jobs, two nodes", remark))


def sweep_workers(repeats: int) -> None:
    """Efficiency of a sweep on all cores, beside what the machine itself loses with all at work."""
    here, cores = str(Path(__file__).parents[1]), os.cpu_count() or 1
    _child(_SWEEP, here, "1")
    used, possible, walls = [], [], []
    for _ in range(repeats):
        alone = _child(_SWEEP, here, "1")
        together = _child(_SWEEP, here, str(cores))
        with ThreadPoolExecutor(cores) as pool:
            each = [run["wall_s"] for run in pool.map(partial(_child, _SWEEP, here), "1" * cores)]
        used.append(alone["wall_s"] / (cores * together["wall_s"]))
        possible.append(alone["wall_s"] * cores / sum(each))
        walls.append(together["wall_s"])
    data = f"{alone['cells']} replays of 200,000 jobs, EASY, {cores} workers"
    remark = f"wall {min(walls):.1f} s at best with all workers"
    name = f"{cores} sweeps at once"
    measured = ("sweep, efficiency of workers", "share", used, name, possible, data, remark)
    record(Measurement(*measured))


def _child(script: str, *arguments: str, environment: dict[str, str] | None = None) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--largest", type=int, default=10_000_000)
    parts: dict[str, Callable[[], None]] = {
        "others": lambda: against_others(chosen.repeats),
        "accasim": lambda: against_accasim(chosen.repeats, chosen.accasim),
        "million": lambda: a_million_jobs(chosen.repeats),
        "pai": lambda: pai_preset(chosen.repeats),
        "openb": lambda: openb_runs(chosen.repeats),
        "queues": lambda: queue_disciplines(repeats=1),
        "rules": lambda: rules_of_a_cluster(repeats=1),
        "orders": lambda: moving_orders(chosen.repeats),
        "shapes": lambda: many_shapes(chosen.repeats),
        "first": lambda: first_call(chosen.repeats),
        "workers": lambda: sweep_workers(chosen.repeats),
        "growth": lambda: growth(chosen.largest),
    }
    options.add_argument("--accasim", help="a Python that has the package accasim")
    options.add_argument("--only", choices=parts, action="append", help="only these parts")
    chosen = options.parse_args()
    for name in chosen.only or parts:
        parts[name]()


if __name__ == "__main__":
    main()
