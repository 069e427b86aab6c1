"""What are predictions worth to a scheduler? Shortest predicted first beside oracle and FIFO.

The second half of a trace is replayed on a cluster so small that jobs queue, the synthetic
one also at the rate of the PAI simulator's published runs. Each job carries what the default,
or a baseline, said of it at its submission, learnt from jobs that had ended by then in the
trace. The oracle knows the true run times. The price of not knowing is the mean completion
time over the oracle's; the gap to FIFO that is closed says what the predictions are good for.
Spread over seeds of the synthetic trace, or over parts of a real one.

    python benchmarks/quality/decision_value.py [--jobs 20000] [--seeds 3]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.profile.predict.evaluation import evaluate
from prophase.sim import Cluster, Workload, simulate
from prophase.trace.split import split_by_time
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
METHODS = ("default", "shrinkage", "backoff-median", "user-median", "global-median")
#: by the number that people are told, not by the one that jobs are ranked by
POINT = "default, its point"
#: work brought over capacity: jobs queue, and the queue drains now and then
LOADS = (0.8, 0.95, 1.1)
#: the rate of the PAI simulator's published runs; the queue drains after the last submission
JOBS_PER_HOUR = 1_000.0
NODE_GPUS = 8


def predicted(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the later half of a trace with a column of predictions per method."""
    split = split_by_time(jobs, test_share=0.5)
    train, test = jobs.iloc[split.train], jobs.iloc[split.test]
    test = test[test["duration_s"] > 0]
    found = evaluate(train, test, METHODS, online=True, ordered=True)
    columns = {f"said_{name}": told["order_by"] for name, told in found.answers.items()}
    columns[f"said_{POINT}"] = found.answers["default"]["value"]
    return test.assign(**columns)


def single_gpus(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return what a replay needs, each job as wide as all of its GPUs, at most a node."""
    wide = (jobs["request_gpus"].fillna(0.0) * jobs["instances"].fillna(1.0)).clip(lower=0.0)
    kept = jobs[wide > 0]
    said = [name for name in kept if str(name).startswith("said_")]
    plain = kept[["job_id", "submit_s", "duration_s", *said]]
    return plain.assign(request_gpus=np.ceil(wide[wide > 0]).clip(upper=NODE_GPUS))


def completion(jobs: pd.DataFrame, load: float) -> dict[str, float]:
    """Return the mean completion time of each order at a load."""
    span = float(np.ptp(jobs["submit_s"]))
    # what the few longest jobs do after the last submission is no load of the others
    inside = np.minimum(jobs["duration_s"], jobs["submit_s"].max() - jobs["submit_s"])
    work = float((inside * jobs["request_gpus"]).sum())
    nodes = max(2, int(np.ceil(work / span / load / NODE_GPUS)))
    cluster = Cluster.uniform(nodes, NODE_GPUS)
    workload = Workload.from_jobs(jobs)
    orders = {"fifo": "fifo", "oracle": "column:duration_s"}
    orders |= {name: f"column:said_{name}" for name in (*METHODS, POINT)}
    return {
        name: float(simulate(workload, cluster, order=order).jct_s.mean())
        for name, order in orders.items()
    }


def hurried(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs at the rate of the PAI simulator's published runs."""
    hours = len(jobs) / JOBS_PER_HOUR
    return jobs.assign(submit_s=jobs["submit_s"] * (3600.0 * hours / np.ptp(jobs["submit_s"])))


def traces(count: int, seeds: int) -> Iterator[tuple[str, list[pd.DataFrame]]]:
    made = [
        predicted(make_pai(jobs=count, days=14.0, random_state=seed).jobs) for seed in range(seeds)
    ]
    yield "synthetic PAI", made
    yield "synthetic PAI at 1,000 jobs an hour", [hurried(part) for part in made]
    if not DATA.is_dir():
        print(f"No real rows at {DATA}; set PROPHASE_DATA.")
        return
    rows = open_trace(DATA / "pai" / "polaris_1_000_sampled_test_data.csv", tables=["jobs"]).jobs
    # a sample of two months hardly ever queues: its clock runs 600 times faster
    rows = predicted(rows.assign(submit_s=rows["start_s"]))
    yield "PAI rows", [rows.assign(submit_s=rows["submit_s"] / 600.0)]
    for name in ("pai_sim/philly20k.csv.gz", "philly-cluster-state", "google2011-jobs"):
        jobs = open_trace(DATA / name, tables=["jobs"]).jobs
        jobs = jobs[[column for column in jobs if not str(column).endswith("_dur")]]
        if "submit_s" not in jobs or jobs["submit_s"].isna().all():
            # numbered jobs, one GPU each, at even steps
            jobs = jobs.assign(submit_s=10.0 * jobs["submit_order"], request_gpus=1.0)
        jobs = jobs.sort_values("submit_s").iloc[:40_000]
        halves = np.array_split(np.arange(len(jobs)), 2)
        yield name, [predicted(jobs.iloc[rows]) for rows in halves]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=20_000)
    options.add_argument("--seeds", type=int, default=3)
    chosen = options.parse_args()
    for name, parts in traces(chosen.jobs, chosen.seeds):
        for load in LOADS:
            note(name, load, [completion(single_gpus(part), load) for part in parts])


def note(name: str, load: float, runs: list[dict[str, float]]) -> None:
    """Record the default beside FIFO, with the share of the gap it closes and the others."""
    over = {method: [run[method] / run["oracle"] for run in runs] for method in runs[0]}
    for method, values in over.items():
        print(f"  {name}, load {load:g}: {method} {np.median(values):.3f} x oracle's", flush=True)
    gap = np.median([1 - (o - 1) / max(f - 1, 1e-9) for o, f in
                     zip(over["default"], over["fifo"], strict=True)])  # fmt: skip
    others = ", ".join(f"{m} {np.median(over[m]):.3f}" for m in (*METHODS[1:], POINT))
    record(
        Measurement(
            f"{name}, load {load:g}: shortest predicted first, mean completion time",
            "x oracle's", over["default"], "fifo", over["fifo"], name,
            f"share of FIFO's gap closed {gap:.2f}; {others}",
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
