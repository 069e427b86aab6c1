"""How import, clustering grids, sweeps and tuning grow with the number of rows.

One row per part and size: processor seconds per million rows (all threads and processes), which
stays level where growth is linear; wall time and memory in the remark. The part ``engines`` runs
one study with DuckDB in this process and with Spark and two Dask workers, and compares every
number.

    python benchmarks/speed/scale.py [--part import,grid,sweep,tuning,fleet,engines] [--most N]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from record import Measurement, record

MILLION = 1_000_000


def used_s() -> float:
    """Return processor time of this process, its threads and its ended children."""
    whole = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in whole)


def peak_gib() -> float:
    """Return the largest memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measured(name: str, rows: int, work: Callable[[], Any], remark: str = "") -> Any:
    began, clock = used_s(), time.perf_counter()
    result = work()
    took, wall = used_s() - began, time.perf_counter() - clock
    said = f"{took:.1f} processor s, {wall:.1f} s wall, peak {peak_gib():.2f} GiB; {remark}"
    record(
        Measurement(
            f"{name}, {rows:,} rows", "processor s per million rows", [took / rows * MILLION],
            remark=said.rstrip("; "),
        )
    )  # fmt: skip
    return result


def write_jobs(path: Path, rows: int) -> None:
    """Write a job list in our columns, a job every two seconds."""
    duckdb.connect().execute(
        f"""copy (select 'j' || i as job_id, 'u' || (i * 7919 % 1300) as "user",
        't' || (i * 104729 % 200) as task, 2.0 * i as submit_s,
        60.0 + (i * 7919 % 7200) as duration_s, 4.0 as request_cpu_cores,
        16.0 as request_memory_gib, 2.0 + (i * 31 % 50) / 10.0 as memory_peak_gib,
        1.0 as request_gpus, 'completed' as status from range({rows}) t(i))
        to '{path}' (header)"""
    )


def import_part(most: int) -> None:
    from prophase.trace import Workspace, import_trace

    for rows in sizes(100_000, most):
        with TemporaryDirectory() as scratch:
            path = Path(scratch) / "jobs.csv"
            write_jobs(path, rows)
            size = path.stat().st_size / 2**20
            home = Workspace.create(Path(scratch) / "ws")
            measured(
                "import csv", rows,
                lambda path=path, home=home: import_trace("csv", path, home),
                f"{size:,.0f} MiB of text",
            )  # fmt: skip


def grid_part(most: int) -> None:
    from prophase.profile.clusters.features import UsageFeatures
    from prophase.profile.clusters.grid.plan import GridPlan
    from prophase.profile.clusters.grid.running import run_grid

    plan = GridPlan(["hdbscan"], ["standard"], ["euclidean"], [100, 400])
    for rows in sizes(10_000, min(most, 100_000)):
        rng = np.random.default_rng(0)
        values = rng.normal(0, 1, (rows, 6)) + 8 * rng.integers(0, 6, (rows, 1))
        features = UsageFeatures(tuple(f"m{i}" for i in range(6)), values, {}, ())
        measured("grid, 2 cells of hdbscan", rows, lambda f=features: run_grid(f, plan))


def sweep_part(most: int) -> None:
    from prophase.sim import Workload
    from prophase.sim.sweeping.plan import SweepPlan
    from prophase.sim.sweeping.running import run_sweep

    for rows in sizes(100_000, min(most, MILLION)):
        at = np.arange(rows)
        jobs = pd.DataFrame({"job_id": at.astype(str), "submit_s": 2.0 * at})
        jobs["duration_s"] = 60.0 + at * 7919 % 7200
        jobs["request_gpus"] = 1.0
        workload = Workload.from_jobs(jobs)
        plan = SweepPlan(["250x8"], policies={"order": ("fifo", "shortest")}, seeds=1)
        count = len(list(plan.cells()))
        measured(
            f"sweep, {count} replays", rows, lambda w=workload, p=plan: run_sweep(w, p)
        )  # fmt: skip


def tuning_part(most: int) -> None:
    from prophase.profile.predict.evaluation import evaluate

    for rows in sizes(10_000, min(most, 100_000)):
        at = np.arange(rows)
        jobs = pd.DataFrame({"job_id": at.astype(str), "submit_s": 60.0 * at})
        jobs["user"] = "u" + pd.Series(at * 7919 % 300).astype(str)
        jobs["task"] = "t" + pd.Series(at * 104729 % 50).astype(str)
        jobs["duration_s"] = 60.0 + (at * 7919 % 300) * 10 + at % 50
        jobs["end_s"] = jobs["submit_s"] + jobs["duration_s"]
        cut = int(0.75 * rows)
        measured(
            "learning and judging the default predictor", rows,
            lambda j=jobs, c=cut: evaluate(j[:c], j[c:], ["default"], online=True),
        )  # fmt: skip


def fleet_part(most: int) -> None:
    from prophase.sim import Cluster, Workload, simulate

    rows = 200_000
    for nodes in (125, 1_250, 12_500):
        at = np.arange(rows)
        # as many arrivals as keep the fleet nearly full, whatever its size
        jobs = pd.DataFrame({"job_id": at.astype(str), "submit_s": at * 3660.0 / (8 * nodes)})
        jobs["duration_s"] = 60.0 + at * 7919 % 7200
        jobs["request_gpus"] = 1.0
        workload, cluster = Workload.from_jobs(jobs), Cluster.uniform(nodes, 8)
        simulate(workload.without(at >= 100, "warm up"), cluster)
        measured(
            f"replay on {8 * nodes:,} GPUs", rows,
            lambda w=workload, c=cluster: simulate(w, c).metrics(),
            "with all measures",
        )  # fmt: skip


def engines_part(most: int) -> None:
    from distributed import LocalCluster

    from prophase.study.loop.plan import StudyPlan
    from prophase.study.loop.running import run_study

    with TemporaryDirectory() as scratch, LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp://"
    ) as cluster:  # fmt: skip
        path = Path(scratch) / "jobs.csv"
        write_jobs(path, 3_000)
        steps = ("lint", "describe", "sizing", "proof", "schedules", "next")
        plain = StudyPlan(
            str(path), cluster="50x8 V100", steps=steps, seeds=2, splits=3,
            methods=("backoff-median", "user-median"),
        )  # fmt: skip
        address = "dask://" + cluster.scheduler_address.removeprefix("tcp://")
        spread = plain.changed(engine="spark", workers=address)
        began = time.perf_counter()
        here = run_study(plain, out=Path(scratch) / "here")
        middle = time.perf_counter()
        there = run_study(spread, out=Path(scratch) / "there")
        ended = time.perf_counter()
    different = [name for name in here.results if here.results[name] != there.results[name]]
    record(
        Measurement(
            "steps of a study whose numbers differ with Spark and Dask", "steps",
            [float(len(different))],
            remark=f"of {len(here.results)}: {', '.join(here.results)}; {middle - began:.0f} s "
            f"with DuckDB here, {ended - middle:.0f} s with Spark and two Dask workers"
            + (f"; different: {', '.join(different)}" if different else ""),
        )
    )  # fmt: skip


def sizes(first: int, most: int) -> list[int]:
    found = []
    while first <= most:
        found.append(first)
        first *= 10
    return found


PARTS = {
    "import": import_part,
    "grid": grid_part,
    "sweep": sweep_part,
    "tuning": tuning_part,
    "fleet": fleet_part,
    "engines": engines_part,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default=",".join(PARTS))
    parser.add_argument("--most", type=int, default=10 * MILLION)
    asked = parser.parse_args()
    for part in asked.part.split(","):
        PARTS[part](asked.most)


if __name__ == "__main__":
    main()
