"""How fast synthetic traces are made.

Baseline: a plain Python loop in the same process that draws one job at a time from the
same laws and keeps it as a dictionary. It has fewer columns and no arrival pattern, so
the ratio flatters the loop.

    python benchmarks/speed/synth_speed.py [--jobs 1000000] [--repeats 3]
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.trace.synth import pai_world as world
from prophase.trace.synth.containers import make_containers
from prophase.trace.synth.pai import make_pai
from prophase.trace.synth.pai_raw_tables import write_raw
from prophase.trace.synth.pai_world import PROFILES
from prophase.trace.synth.pipeline import make_pipeline
from record import Measurement, record

LOOP_JOBS = 20_000


def jobs_one_by_one(count: int) -> list[dict[str, object]]:
    """Draw jobs of the PAI-like world in a loop."""
    rng = random.Random(0)
    workloads, weights = zip(*world.WORKLOAD_ROWS.items(), strict=True)
    plans = {
        name: ([value for value, _ in table], [share for _, share in table])
        for name, table in (
            ("cpu", world.CPU_PLANS["worker"]),
            ("memory", world.MEMORY_PLANS["worker"]),
            ("gpu", world.GPU_PLANS),
        )
    }
    rows: list[dict[str, object]] = []
    clock = 0.0
    for number in range(count):
        clock += rng.expovariate(0.4)
        workload = rng.choices(workloads, weights)[0]
        profile = rng.choice([p for p in PROFILES if workload in p.workloads])
        wait = 11.0 * math.exp(2.72 * rng.gauss(0, 1))
        duration = max(1.0, profile.duration_s * math.exp(1.8 * rng.gauss(0, 1)))
        rows.append(
            {
                "job_id": f"job-{number}/worker",
                "parent_id": f"job-{number}",
                "user": f"user-{int(rng.paretovariate(1.05))}",
                "group": f"group-{rng.randrange(count)}",
                "workload": workload,
                "submit_s": clock,
                "start_s": clock + wait,
                "end_s": clock + wait + duration,
                "duration_s": duration,
                "wait_s": wait,
                **{f"request_{name}": rng.choices(*plan)[0] for name, plan in plans.items()},
                "cpu_mean_cores": profile.cpu_cores * math.exp(0.3 * rng.gauss(0, 1)),
                "memory_mean_gib": profile.memory_gib * math.exp(0.3 * rng.gauss(0, 1)),
                "gpu_util_mean_pct": 100 * profile.gpus * math.exp(0.4 * rng.gauss(0, 1)),
                "read_bytes": profile.read_bytes * math.exp(0.4 * rng.gauss(0, 1)),
                "write_bytes": profile.write_bytes * math.exp(0.4 * rng.gauss(0, 1)),
            }
        )
    return rows


def rate(count: int, work: Callable[[], object]) -> float:
    """Return items per second."""
    began = time.perf_counter()
    work()
    return count / (time.perf_counter() - began)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=1_000_000)
    options.add_argument("--repeats", type=int, default=3)
    chosen = options.parse_args()
    make_pai(jobs=1000)
    ours, loop = [], []
    for repeat in range(chosen.repeats):
        ours.append(rate(chosen.jobs, lambda seed=repeat: make_pai(chosen.jobs, random_state=seed)))
        loop.append(rate(LOOP_JOBS, lambda: jobs_one_by_one(LOOP_JOBS)))
    record(
        Measurement(
            "synth pai", "jobs/s", ours, "plain Python loop", loop,
            f"{chosen.jobs:,} jobs, about 1.2 rows each",
            f"{chosen.jobs:,} jobs in {chosen.jobs / max(ours):.1f} s at best",
        )
    )  # fmt: skip
    pipeline = [rate(34_368, make_pipeline) for _ in range(chosen.repeats)]
    record(Measurement("synth pipeline", "rows/s", pipeline, data="34,368 rows"))
    samples = [rate(600_000, lambda: make_containers(1000)) for _ in range(chosen.repeats)]
    record(Measurement("synth containers", "samples/s", samples, data="1,000 series"))
    trace = make_pai(jobs=100_000)
    workers = int(trace.jobs["instances"].sum())
    with TemporaryDirectory() as scratch:
        raw = [rate(workers, lambda: write_raw(trace, scratch)) for _ in range(chosen.repeats)]
    record(Measurement("synth pai, raw dump", "instance rows/s", raw, data=f"{workers:,} workers"))


if __name__ == "__main__":
    main()
