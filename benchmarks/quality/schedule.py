"""How much of a perfect order's gain do predictions keep, on real traces?

One row per trace and predictor: share of the oracle's gain in mean completion time, with its
interval; waits and the published numbers in the remark. A trace that does not name its cluster
gets one as large as its mean load needs at 90 % utilisation.

    python benchmarks/quality/schedule.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.sim import Cluster
from prophase.study.machines import machines
from prophase.study.scheduling.comparing import schedule_study
from prophase.study.scheduling.policies import FIFO, ORACLE
from prophase.trace.loading import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
TRACES = {"philly": "philly/philly.csv.gz", "kth-sp2": "hpc-swf/kth-sp2-1996.part1.swf.gz"}
METHODS = ("default", "backoff-median", "user-median")
JOBS, SEEDS, LOAD, GPUS = 8_000, 10, 0.9, 8


def main() -> None:
    for name, path in TRACES.items():
        trace = open_trace(DATA / path, tables=["jobs", "nodes"])
        jobs = trace.jobs.dropna(subset=["submit_s", "duration_s"])
        jobs = jobs.sort_values("submit_s").tail(JOBS)
        cluster = machines(trace, None)
        if cluster is None:
            work = (jobs["duration_s"] * jobs["request_gpus"]).sum()
            span = jobs["submit_s"].max() - jobs["submit_s"].min()
            cluster = Cluster.uniform(max(1, int(np.ceil(work / span / LOAD / GPUS))), GPUS)
        study = schedule_study(jobs, cluster, METHODS, seeds=SEEDS)
        fifo, oracle = study.of(FIFO), study.of(ORACLE)
        assert fifo is not None
        assert oracle is not None
        for one in study.overall:
            if "predicted by" not in one.policy or one.kind != "order":
                continue
            record(
                Measurement(
                    f"oracle's gain kept, {name}, {one.policy}",
                    "%",
                    [one.kept_pct],
                    data=trace.data_hash[:12],
                    remark=f"95 % interval {one.kept_pct_low:.0f} to {one.kept_pct_high:.0f}; mean "
                    f"completion {fifo.mean_jct_s:,.0f} s fifo, {one.mean_jct_s:,.0f} predicted, "
                    f"{oracle.mean_jct_s:,.0f} true; p99 wait {fifo.p99_wait_s:,.0f}, "
                    f"{one.p99_wait_s:,.0f}, {oracle.p99_wait_s:,.0f} s; {study.jobs:,} jobs, "
                    f"{len(cluster)} nodes, {cluster.gpus} GPUs, {SEEDS} seeds; "
                    "NSDI 2022: completion 63 to 77 % shorter",
                )
            )


if __name__ == "__main__":
    main()
