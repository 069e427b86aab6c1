"""How much of a perfect order's gain do predictions keep, on real traces?

One row per trace, load and predictor: share of the oracle's gain in mean completion time, with
its interval; what happens to long waits, and the published numbers, in the remark. A trace that
does not name its cluster gets one that the replayed jobs keep 90 % (or 75 %) busy: the share kept
depends on how long queues are. Response ratios are the order under which nobody is overtaken for
ever: what they cost on average, and what they do to long waits.

    python benchmarks/quality/schedule.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.study.cluster import machines
from prophase.study.scheduling.comparison import schedule_study
from prophase.study.scheduling.policies import FIFO, ORACLE
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
PHILLY, KTH = "philly/philly.csv.gz", "hpc-swf/kth-sp2-1996.part1.swf.gz"
#: name -> file and cluster
TRACES = {
    "philly, 90 % busy": (PHILLY, "90%"),
    "philly, 75 % busy": (PHILLY, "75%"),
    "kth-sp2, its own nodes": (KTH, None),
}
METHODS = ("default", "backoff-median")
JOBS, SEEDS, SHARE = 30_000, 10, 0.5


def main() -> None:
    for name, (path, busy) in TRACES.items():
        trace = open_trace(DATA / path, tables=["jobs", "nodes"])
        jobs = trace.jobs.dropna(subset=["submit_s", "duration_s"])
        jobs = jobs.sort_values("submit_s").tail(JOBS)
        cluster = machines(trace, busy, replayed=jobs.tail(int(SHARE * len(jobs))))
        assert cluster is not None
        study = schedule_study(jobs, cluster, METHODS, test_share=SHARE, seeds=SEEDS)
        fifo, oracle = study.of(FIFO), study.of(ORACLE)
        assert fifo is not None
        assert oracle is not None
        for one in study.overall:
            if "predicted by" not in one.policy or one.kind != "order":
                continue
            tail = one.p99_change_pct
            before, mine, best = (
                np.array(study.drawn[name]["mean_jct_s"]) for name in (FIFO, one.policy, ORACLE)
            )
            seeds = 100 * (before - mine) / (before - best)
            record(
                Measurement(
                    f"oracle's gain kept, {name}, {one.policy}",
                    "%",
                    [one.kept_pct.value],
                    data=trace.data_hash[:12],
                    remark=f"{seeds.min():.0f} to {seeds.max():.0f} in single seeds, "
                    f"{(seeds >= 80).sum()} of {SEEDS} at 80 or more; 95 % interval "
                    f"{one.kept_pct.low:.0f} to {one.kept_pct.high:.0f}; p99 wait "
                    f"{tail.value:+.0f} % ({tail.low:.0f} to {tail.high:.0f}) against fifo, "
                    f"with true run times {oracle.p99_change_pct.value:+.0f} %; mean completion "
                    f"{fifo.mean_jct_s:,.0f} s fifo, {one.mean_jct_s:,.0f} predicted, "
                    f"{oracle.mean_jct_s:,.0f} true; {study.jobs:,} jobs, {len(cluster)} nodes, "
                    f"{cluster.gpus} GPUs, {SEEDS} seeds; NSDI 2022: completion 63 to 77 % shorter",
                )
            )


if __name__ == "__main__":
    main()
