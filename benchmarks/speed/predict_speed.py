"""How fast a saved model answers: one job, and 100,000 jobs, against the global median.

The model learns from 50,000 real Slurm jobs (synthetic PAI jobs where those are not at hand),
is saved and loaded, and answers in this process. Times are CPU time, so that other work on the
machine does not count; the wall clock stands in the remarks.

With ``--history`` it is measured what learning from so many jobs takes (the real ones, month after
month), what loading it takes beside reading the same bytes, and the first answer after that.

    python benchmarks/speed/predict_speed.py [--repeats 3] [--jobs 100000]
    python benchmarks/speed/predict_speed.py --history 1000000 [--repeats 5]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.profile import JobModel, ask, learn
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
LEARNT, SINGLE = 50_000, 1_000
METHODS = {"default": "default", "baseline": "global-median"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--history", type=int, default=0, help="learn from so many jobs, once")
    options = parser.parse_args()
    jobs, data = real_jobs()
    if options.history:
        asked, history = bare(jobs[-SINGLE:]), repeated(jobs, options.history)
        # whoever learns holds the history alone
        del jobs
        long_history(history, asked, data, options.repeats)
        return
    history, asked = jobs[:LEARNT], bare(jobs[-SINGLE:])
    many = bare(jobs.sample(options.jobs, replace=True, random_state=0, ignore_index=True))
    models = {name: loaded(history, method) for name, method in METHODS.items()}
    single = {name: one_by_one(model, asked, options.repeats) for name, model in models.items()}
    for share in (50, 99):
        wall, cpu = (
            {
                name: [1e3 * float(np.percentile(run[kind], share)) for run in runs]
                for name, runs in single.items()
            }
            for kind in ("wall", "cpu")
        )
        remark = f"wall {min(wall['default']):.2f} ms at best; fewer than 10 ms are wanted"
        name = f"one job after load, p{share}"
        values, base = cpu["default"], cpu["baseline"]
        record(Measurement(name, "ms", values, "global median", base, data, remark))
    taken = {
        name: [seconds(lambda m=model: m.predict(many)) for _ in range(options.repeats)]
        for name, model in models.items()
    }
    values, base = ([cpu for _, cpu in taken[name]] for name in METHODS)
    best = min(wall for wall, _ in taken["default"])
    remark = f"wall {best:.2f} s at best; fewer than 10 s are wanted"
    name = f"{options.jobs:,} jobs"
    record(Measurement(name, "s", values, "global median", base, data, remark))
    job = asked.iloc[0].dropna().to_dict()
    ask(models["default"], job)
    advised = [1e3 * seconds(lambda: ask(models["default"], job))[1] for _ in range(20)]
    record(Measurement("ask for one job, with what mattered", "ms", advised, data=data))


def long_history(history: pd.DataFrame, asked: pd.DataFrame, data: str, repeats: int) -> None:
    """Record what learning from a long history takes, and loading what was learnt."""
    held = peak_gib()
    # a small model first: imports are not learning
    learn(history[:500], ["duration_s"])
    base = seconds(lambda: learn(history, ["duration_s"], method="global-median"))[1]
    found: list[JobModel] = []
    wall, cpu = seconds(lambda: found.append(learn(history, ["duration_s"])))
    size, remark = f"{len(history):,} jobs", f"wall {wall:.0f} s; at most 60 are wanted"
    record(Measurement(f"learn from {size}", "s", [cpu], "global median", [base], data, remark))
    remark = f"the process, of which {held:.2f} held the history; 1.5 GB = 1.40 are wanted"
    record(
        Measurement(f"memory to learn from {size}", "GiB", [peak_gib()], data=data, remark=remark)
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.model"
        found[0].save(path)
        found.clear()
        taken, plain, first = [], [], []
        for _ in range(repeats):
            plain.append(seconds(path.read_bytes)[1])
            taken.append(seconds(lambda: found.append(JobModel.load(path)))[1])
            model = found.pop()
            first.append(1e3 * seconds(lambda m=model: m.predict(asked[:1]))[1])
        remark = f"{path.stat().st_size / 1e6:.0f} MB; 0.1 s is wanted"
    name = f"load a model of {size}"
    record(Measurement(name, "s", taken, "reading the same bytes", plain, data, remark))
    runs = [run["cpu"] for run in one_by_one(model, asked, repeats)]
    p99 = [1e3 * float(np.percentile(run, 99)) for run in runs]
    name = f"first answer of a model of {size} after load"
    record(Measurement(name, "ms", first, "p99 of later answers", p99, data))


def peak_gib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def repeated(jobs: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return the jobs as often as needed, one month after the other."""
    clocks = [name for name in ("submit_s", "start_s", "end_s") if name in jobs]
    span = float(jobs["submit_s"].max() - jobs["submit_s"].min()) + 1.0
    times = -(-count // len(jobs))
    whole = pd.concat([jobs] * times, ignore_index=True)
    month = np.repeat(np.arange(times), len(jobs))
    whole["job_id"] = np.arange(len(whole)).astype(str)
    for name in clocks:
        whole[name] += span * month
    return whole[:count]


def real_jobs() -> tuple[pd.DataFrame, str]:
    """Return a job table and what to call it."""
    folder = DATA / "drac-slurm"
    if folder.is_dir():
        return open_trace(folder, source="drac", tables=["jobs"]).jobs, "drac-slurm, May 2021"
    made = make_pai(jobs=LEARNT, days=20.0, random_state=0)
    return made.tables["jobs"], f"synthetic PAI, {LEARNT:,} jobs"


def bare(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return what is known of jobs when they are submitted."""
    from prophase.profile.predict.submit_columns import submitted

    return submitted(jobs).reset_index(drop=True)


def loaded(history: pd.DataFrame, method: str) -> JobModel:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.model"
        learn(history, ["duration_s"], method=method).save(path)
        return JobModel.load(path)


def one_by_one(model: JobModel, jobs: pd.DataFrame, repeats: int) -> list[dict[str, list[float]]]:
    """Return the times of single answers, per repeat."""
    rows = [jobs[place : place + 1] for place in range(len(jobs))]
    model.predict(rows[0])
    runs = []
    for _ in range(repeats):
        times = [seconds(lambda row=row: model.predict(row)) for row in rows]
        runs.append({"wall": [wall for wall, _ in times], "cpu": [cpu for _, cpu in times]})
    return runs


def seconds(call: Callable[[], object]) -> tuple[float, float]:
    """Return wall and CPU time of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    main()
