"""How import, lint, describe, grids, sweeps, tuning and a whole study grow with the rows.

Each part and size runs in a process of its own: processor seconds per million rows (all threads),
which stay level where growth is linear, with the peak of its memory in the remark. Traces are
synthetic PAI (30 days of a million jobs; longer ones are that month again and again). The part
``engines`` runs one study with DuckDB in this process and with Spark and two Dask workers, and
compares every number.

    python benchmarks/speed/scale.py [--part import,grid,...] [--most N] [--folder KEPT]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from record import ROOT, Measurement, record

MILLION = 1_000_000
DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
#: what is timed, and a remark made of its result
Timed = tuple[Callable[[], Any], Callable[[Any], str]]


def import_part(folder: Path, rows: int) -> Timed:
    from prophase.trace import Workspace, import_trace

    path = folder / f"jobs-{rows}.csv"
    duckdb.connect().execute(
        f"""copy (select 'j' || i as job_id, 'u' || (i * 7919 % 1300) as "user",
        't' || (i * 104729 % 200) as task, 2.0 * i as submit_s,
        60.0 + (i * 7919 % 7200) as duration_s, 4.0 as request_cpu_cores,
        16.0 as request_memory_gib, 2.0 + (i * 31 % 50) / 10.0 as memory_peak_gib,
        1.0 as request_gpus, 'completed' as status from range({rows}) t(i))
        to '{path}' (header)"""
    )
    home = Workspace.create(folder / f"imported-{rows}")
    size = path.stat().st_size / 2**20
    return lambda: import_trace("csv", path, home), lambda _: f"{size:,.0f} MiB of text"


def sacct_part(folder: Path, rows: int) -> Timed:
    """Measure importing Slurm's log as text."""
    from prophase.trace import Workspace, import_trace

    dump, home = sacct(folder, rows), Workspace.create(folder / f"slurm-{rows}")
    size = dump.stat().st_size / 2**20
    return lambda: import_trace("sacct", dump, home), lambda _: f"{size:,.0f} MiB of text"


def command_part(*words: str) -> Callable[[Path, int], Timed]:
    """Return a part that runs a command of the command line on what was imported by ``sacct``."""

    def part(folder: Path, rows: int) -> Timed:
        from prophase.cli.main import run

        def work() -> object:
            sys.argv = ["prophase", words[0], str(folder / f"slurm-{rows}"), *words[1:]]
            try:
                with redirect_stdout(sys.stderr):
                    code = run()
            except SystemExit as end:
                code = end.code
            # 1: it ran, and found a problem
            if code not in (None, 0, 1):
                raise RuntimeError(f"prophase {' '.join(words)}: exit {code}")
            return code

        return work, lambda code: f"exit {code or 0}"

    return part


def grid_part(folder: Path, rows: int) -> Timed:
    """Measure what ``prophase profile grid --sample 10000`` does: read, draw, cluster."""
    from prophase.papers.grid.plan import GridPlan, run_grid
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.usage_metrics import USAGE_METRICS, usage_features
    from prophase.trace.trace_tables import open_trace

    home = pai(folder, rows)

    def work() -> pd.DataFrame:
        asked = ["instances", *USAGE_METRICS.values()]
        jobs = ended_jobs(open_trace(home, tables=["jobs"], columns=asked).jobs).jobs
        few = jobs.sample(10_000, random_state=0).reset_index(drop=True)
        features = usage_features(few, leaking=False)
        return run_grid(features, GridPlan(["hdbscan"], ["standard"], ["euclidean"], [100, 400]))

    return work, lambda cells: f"{len(cells)} cells of hdbscan on 10,000 jobs drawn at random"


def lint_part(folder: Path, rows: int) -> Timed:
    """Measure what ``prophase lint`` does with a workspace."""
    from prophase.trace.lint.linter import lint

    home = pai(folder, rows)
    return lambda: lint(home), lambda found: f"{len(found.findings)} findings"


def describe_part(folder: Path, rows: int) -> Timed:
    """Measure what ``prophase describe`` does with a workspace."""
    from prophase.trace.describe.description import describe
    from prophase.trace.trace_tables import open_trace

    home = pai(folder, rows)
    return (
        lambda: describe(open_trace(home, by_column=True)),
        lambda found: f"{len(found.not_computable)} parts not computable",
    )


def sweep_part(folder: Path, rows: int) -> Timed:
    """Measure four replays (two orders, as recorded and resampled) of PAI-like jobs."""
    from prophase.sim import Cluster, Workload
    from prophase.sim.sweep.plan import SweepPlan
    from prophase.sim.sweep.runner import run_sweep
    from prophase.trace.trace_tables import open_trace

    trace = open_trace(pai(folder, rows), tables=["jobs", "nodes"])
    own = Cluster.from_nodes(trace.nodes)
    workload = Workload.from_jobs(trace.jobs)
    plan = SweepPlan(["own"], policies={"order": ("fifo", "shortest")}, seeds=1)
    return (
        lambda: run_sweep(workload, plan, own=own, leave_out_unfit=True),
        lambda found: f"{len(found.cells)} replays on {len(own):,} nodes, {own.gpus:,} GPUs",
    )


def simple_part(folder: Path, rows: int) -> Timed:
    """Measure one replay of one-GPU jobs: as fast as a replay gets."""
    from prophase.sim import Cluster, Workload, simulate

    at = np.arange(rows)
    jobs = pd.DataFrame({"job_id": at.astype(str), "submit_s": 2.0 * at})
    jobs["duration_s"], jobs["request_gpus"] = 60.0 + at * 7919 % 7200, 1.0
    workload, cluster = Workload.from_jobs(jobs), Cluster.uniform(250, 8)
    simulate(workload.without(at >= 100, "warm up"), cluster)
    return lambda: simulate(workload, cluster).metrics(), lambda _: "2,000 GPUs, all measures"


def tuning_part(folder: Path, rows: int) -> Timed:
    """Measure learning the default predictor of run times and judging it as of submission."""
    from prophase.profile.predict.evaluation import evaluate
    from prophase.trace.split import split_by_time
    from prophase.trace.trace_tables import open_trace

    jobs = open_trace(pai(folder, rows), tables=["jobs"]).jobs
    split = split_by_time(jobs, test_share=0.25)
    early, late = jobs.iloc[split.train], jobs.iloc[split.test]
    return (
        lambda: evaluate(early, late, ["default"], online=True),
        lambda found: f"{found.train_jobs:,} jobs learnt, {found.test_jobs:,} predicted",
    )


def study_part(folder: Path, rows: int) -> Timed:
    from prophase.study.pipeline import StepDone, Watching, run_study
    from prophase.study.plan import StudyPlan

    home, told, last = pai(folder, rows), list[str](), [used_s()]

    def end(done: StepDone) -> None:
        now = used_s()
        told.append(f"{done.name} {now - last[0]:.1f} s, peak {peak_gib():.2f} GiB")
        last[0] = now
        # from here on the peak is that of the next step
        Path("/proc/self/clear_refs").write_text("5")

    return (
        lambda: run_study(StudyPlan(str(home), seeds=2), watching=Watching(end=end)),
        lambda found: f"two seeds, the latest {found.plan.most_jobs:,} jobs: " + "; ".join(told),
    )


def fleet_part(folder: Path, rows: int) -> Timed:
    """Measure a replay of PAI-like jobs on 100,000 GPUs, as many jobs a day as fill them."""
    from prophase.sim import Cluster, Workload, simulate
    from prophase.trace.synth.cluster import make_cluster
    from prophase.trace.trace_tables import open_trace

    trace = open_trace(pai(folder, rows), tables=["jobs", "nodes"])
    own = Cluster.from_nodes(trace.nodes)
    fleet = Cluster.from_nodes(make_cluster("pai", scale=100_000 / 6_742).nodes)
    jobs = trace.jobs
    # the same jobs come as much faster as the fleet is larger
    jobs["submit_s"] *= own.gpus / fleet.gpus
    workload = Workload.from_jobs(jobs)
    days = float(np.ptp(workload.submit_s)) / 86400

    def tell(found: dict[str, Any]) -> str:
        return (
            f"{len(fleet):,} nodes, {fleet.gpus:,} GPUs, {days:.1f} days, GPUs "
            f"{found['gpu_utilisation_pct']:.0f} % used, mean wait {found['mean_wait_s']:.0f} s"
        )

    simulate(workload.without(np.arange(len(workload)) >= 100, "warm up"), own)
    return lambda: simulate(
        workload, fleet, place="best_fit", queue="skip", leave_out_unfit=True
    ).metrics(), tell


#: lines of a log of Slurm: half of them jobs, half their batch steps
_LINES = (MILLION, 10 * MILLION)
#: part -> what it is called, how it is measured, the sizes it is measured at
PARTS: dict[str, tuple[str, Callable[[Path, int], Timed], tuple[int, ...]]] = {
    "import": ("import csv", import_part, (100_000, MILLION, 10 * MILLION)),
    "grid": ("grid on a sample", grid_part, (100_000, MILLION)),
    "lint": ("lint", lint_part, (MILLION, 5 * MILLION, 10 * MILLION)),
    "describe": ("describe", describe_part, (MILLION, 5 * MILLION, 10 * MILLION)),
    "sweep": ("sweep, PAI-like jobs", sweep_part, (100_000, 300_000)),
    "simple": ("replay, one-GPU jobs", simple_part, (100_000, MILLION, 10 * MILLION)),
    "tuning": ("default predictor", tuning_part, (100_000, 300_000)),
    "study": ("study", study_part, (100_000, MILLION)),
    "fleet": ("replay on 100,000 GPUs", fleet_part, (30_000,)),
    "sacct": ("import sacct", sacct_part, _LINES),
    "sacct-lint": ("lint of sacct", command_part("lint"), _LINES),
    "sacct-describe": ("describe of sacct", command_part("describe"), _LINES),
    "sacct-size": ("size of sacct", command_part("size"), _LINES),
    "sacct-learn": ("learn from sacct", command_part("learn"), _LINES),
}


def sacct(folder: Path, rows: int) -> Path:
    """Return a log of Slurm with so many lines: of each job its own, and that of its batch step."""
    path = folder / f"sacct-{rows}.psv"
    if path.exists():
        return path
    at = "strftime(to_timestamp(1700000000 + {}), '%Y-%m-%dT%H:%M:%S')"
    fields = {
        "JobID": ("i", "i || '.batch'"),
        "JobName": ("'fit_' || (i * 31 % 4000)", "'batch'"),
        "User": ("'u' || (i * 7919 % 1300)", "NULL"),
        "Account": ("'a' || (i * 7919 % 1300 % 90)", "NULL"),
        "Partition": ("CASE WHEN i % 3 = 0 THEN 'gpu' ELSE 'cpu' END", "NULL"),
        "State": ("state", "state"),
        "Submit": (at.format("4 * i"), at.format("4 * i + wait")),
        "Start": (at.format("4 * i + wait"), at.format("4 * i + wait")),
        "End": (at.format("4 * i + wait + ran"), at.format("4 * i + wait + ran")),
        "Timelimit": ("'1-00:00:00'", "NULL"),
        "NNodes": ("1", "1"),
        "ReqCPUS": ("1 + i % 8", "1 + i % 8"),
        "ReqMem": ("(8 << (i % 4)) || 'G'", "NULL"),
        "AllocTRES": ("'cpu=' || (1 + i % 8) || ',mem=' || (8 << (i % 4)) || 'G,node=1'", "NULL"),
        "MaxRSS": ("NULL", "(1000000 + i * 31 % 4000 * 900 + hash(i) % 700000)::BIGINT || 'K'"),
        "TotalCPU": (
            "NULL",
            "(ran // 3600) || ':' || lpad((ran // 60 % 60)::VARCHAR, 2, '0') || ':00'",
        ),
    }
    lines = ", ".join(
        f"CASE WHEN step THEN ({of_step})::VARCHAR ELSE ({of_job})::VARCHAR END AS {name}"
        for name, (of_job, of_step) in fields.items()
    )
    duckdb.connect(config={"memory_limit": "2GB"}).execute(
        f"""copy (select {lines} from (
            select i, step, (hash(i) % 600)::BIGINT as wait,
            (60 + i * 31 % 4000 * 9 + hash(i + 1) % 3000)::BIGINT as ran,
            case when i % 9 = 0 then 'FAILED' else 'COMPLETED' end as state
            from range(1, {rows // 2 + 1}) t(i), (values (false), (true)) s(step)))
        to '{path}' (header, delimiter '|')"""
    )
    return path


def pai(folder: Path, rows: int) -> Path:
    """Return a workspace of PAI-like jobs: a month, and for more than a million that again."""
    from prophase.trace import Workspace
    from prophase.trace.synth.pai import make_pai

    home = folder / f"pai-{rows}"
    if Workspace.is_at(home):
        return home
    if rows <= MILLION:
        made = make_pai(jobs=rows, days=30.0, random_state=0)
        Workspace.create(home).store_frames(made.tables, source="synth", source_hash=str(rows))
        return home
    month, parts = Workspace(pai(folder, MILLION)), folder / "parts"
    parts.mkdir(exist_ok=True)
    later = ", ".join(f"{c} + k * 2592000 as {c}" for c in ("submit_s", "start_s", "end_s"))
    duckdb.connect(config={"memory_limit": "2GB", "threads": 1}).execute(
        f"""copy (select * replace (job_id || '-' || k as job_id, {later})
        from '{month.path_of("jobs")}', range({rows // MILLION}) t(k))
        to '{parts / "jobs.parquet"}' (compression zstd)"""
    )
    nodes = parts / "nodes.parquet"
    nodes.write_bytes(month.path_of("nodes").read_bytes())
    Workspace.create(home).store(
        {"jobs": parts / "jobs.parquet", "nodes": nodes}, source="synth", source_hash=str(rows)
    )
    return home


def used_s() -> float:
    """Return processor time of this process, its threads and its ended children."""
    whole = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in whole)


def peak_gib() -> float:
    """Return the largest memory of this process; ru_maxrss would be that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20


def measure_here(part: str, folder: Path, rows: int) -> None:
    """Measure in this process and print what was found, for the parent to read."""
    work, tell = PARTS[part][1](folder, rows)
    began, clock = used_s(), time.perf_counter()
    found = work()
    took, wall, peak = used_s() - began, time.perf_counter() - clock, peak_gib()
    print(json.dumps({"s": took, "wall": wall, "peak": peak, "remark": tell(found)}))


def measure(part: str, folder: Path, rows: int) -> None:
    (sacct if part.startswith("sacct") else pai)(folder, rows)
    called = [sys.executable, __file__, "--here", "--part", part, "--most", str(rows)]
    done = subprocess.run(
        [*called, "--folder", str(folder)], capture_output=True, text=True, check=False
    )
    name = f"{PARTS[part][0]}, {rows:,} rows"
    if done.returncode:
        print(f"{name}: failed. {done.stderr[-2000:]}", file=sys.stderr)
        return
    found = json.loads(done.stdout.splitlines()[-1])
    record(
        Measurement(
            name, "processor s per million rows", [found["s"] / rows * MILLION],
            remark=f"{found['s']:.1f} processor s, {found['wall']:.1f} s wall, peak "
            f"{found['peak']:.2f} GiB; {found['remark']}",
        )
    )  # fmt: skip


def engines(folder: Path) -> None:
    """Run a study with DuckDB here, and with Spark and two Dask workers; compare the numbers."""
    from distributed import LocalCluster

    from prophase.study.pipeline import run_study
    from prophase.study.plan import StudyPlan

    traces: dict[str, tuple[Path, str | None]] = {}
    if (DATA / "pai").is_dir():
        traces["real PAI"] = (DATA / "pai", None)
    raw = folder / "raw"
    if not raw.is_dir():
        make = ["synth", "pai", "--jobs", "85000", "--days", "10", "--raw", str(raw)]
        subprocess.run([str(Path(sys.executable).parent / "prophase"), *make], check=True)
    traces["synthetic PAI"] = (raw, "pai2020")
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", protocol="tcp://"
    ) as cluster:
        for name, (path, source) in traces.items():
            plain = StudyPlan(
                str(path), source=source, cluster="180x8 V100 96c 512g", seeds=2, splits=3,
                methods=("backoff-median",), most_jobs=3_000,
            )  # fmt: skip
            spread = plain.changed(engine="spark", workers=cluster.scheduler_address)
            sides, seconds = [], []
            for place, plan in (("here", plain), ("there", spread)):
                began = time.perf_counter()
                sides.append(run_study(plan, out=folder / f"{name}-{place}").results)
                seconds.append(time.perf_counter() - began)
            here, there = sides
            different = [n for n in {**here, **there} if here.get(n) != there.get(n)]
            record(
                Measurement(
                    f"steps of a study of {name} whose numbers differ with Spark and Dask",
                    "steps", [float(len(different))],
                    remark=f"of {len(here)}: {', '.join(here)}; {seconds[0]:.0f} s with DuckDB "
                    f"here, {seconds[1]:.0f} s with Spark and two Dask workers"
                    + (f"; different: {', '.join(different)}" if different else ""),
                )
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default=",".join([*PARTS, "engines"]))
    parser.add_argument("--most", type=int, default=10 * MILLION)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="keep traces here for another call")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        measure_here(asked.part, asked.folder, asked.most)
        return
    with nullcontext(asked.folder) if asked.folder else TemporaryDirectory() as folder:
        for part in asked.part.split(","):
            if part == "engines":
                engines(Path(folder))
                continue
            for rows in PARTS[part][2]:
                if asked.least <= rows <= asked.most:
                    measure(part, Path(folder), rows)


if __name__ == "__main__":
    main()
