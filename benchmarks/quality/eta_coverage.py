"""Do forecasts of a job's start hold what they promise? Philly and KTH, 80 % intervals.

The truth is a simulated history: the trace's jobs on a cluster of known size and policy, so that
what is measured is the forecast and not the model. A second part takes KTH's recorded starts,
where EASY is only roughly what ran. Forecasts are calibrated on what was known before the held-out
stretch begins; the baseline learns nothing: waits of the past that were at least as long.

    python benchmarks/quality/eta_coverage.py [kth] [philly]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from prophase.errors import InputError
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.forecast.back_test import Coverage, calibrate, measure_coverage
from prophase.sim.forecast.queue_state import recorded_jobs
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
#: where held-out stretches begin, as shares of the log, and how long they are
BEGINS, LENGTH = (0.4, 0.55, 0.7, 0.85), 0.14


def measure(name: str, data: str, jobs: pd.DataFrame, cluster: Cluster, **policy: Any) -> None:
    first, last = float(jobs["submit_s"].min()), float(jobs["submit_s"].max())
    found: list[Coverage] = []
    withheld = 0
    for begin in BEGINS:
        now_s = first + begin * (last - first)
        try:
            past = calibrate(jobs, cluster, now_s=now_s, **policy)
            if past.why_withheld:
                print(f"{name} from {begin:.0%} of the log: no forecasts: {past.why_withheld}")
                withheld += 1
            found.append(
                measure_coverage(
                    jobs,
                    cluster,
                    since_s=now_s,
                    until_s=now_s + LENGTH * (last - first),
                    instants=15,
                    per_instant=2,
                    draws=40,
                    stretch=past.stretch,
                    random_state=1,
                    **policy,
                )
            )
        except InputError as cause:
            print(f"{name} from {begin:.0%} of the log: {cause}")
    weights = [one.forecasts for one in found]

    def mean(field: str) -> float:
        return float(np.average([one.to_dict()[field] for one in found], weights=weights))

    remark = f"{sum(weights)} forecasts in {len(found)} stretches; withheld in {withheld}"
    guess = "waits of the past"
    rows: tuple[tuple[str, str, str, str], ...] = (
        ("coverage of the 80 % interval", "share", "covered", "baseline_covered"),
        ("mean absolute error of the median", "s", "error_s", "baseline_error_s"),
        (
            "median absolute error, beside recent waits of jobs alike",
            "s",
            "median_error_s",
            "alike_error_s",
        ),
        ("median width of the interval", "s", "width_s", "baseline_width_s"),
    )
    for what, unit, ours, theirs in rows:
        values = [one.to_dict()[ours] for one in found]
        print(f"  weighted: {mean(ours):.3g}, {guess}: {mean(theirs):.3g}")
        record(
            Measurement(
                f"eta {name}: {what}",
                unit,
                values,
                guess,
                [getattr(one, theirs) for one in found],
                data=data,
                remark=remark,
            )
        )


def main() -> None:
    traces = set(sys.argv[1:]) or {"kth", "philly"}
    if "kth" in traces:
        judge_kth()
    if "philly" in traces:
        judge_philly()


def judge_kth() -> None:
    log = "hpc-swf/kth-sp2-1996.part1.swf.gz"
    kth = open_trace(DATA / log).jobs
    node = Cluster.parse("1x0 100c")
    truth = recorded_jobs(simulate(Workload.from_jobs(kth), node, queue="easy"))
    measure("KTH, EASY simulated", log, truth, node, queue="easy")
    measure("KTH, recorded starts", log, kth, node, queue="easy", leave_out_unfit=True)


def judge_philly() -> None:
    jobs = open_trace(DATA / "philly" / "philly.csv.gz").jobs.sort_values("submit_s")
    cluster = Cluster.uniform(80, 8)
    truth = recorded_jobs(simulate(Workload.from_jobs(jobs.iloc[2000:32000]), cluster))
    measure("Philly, 80x8 simulated", "philly/philly.csv.gz", truth, cluster)


if __name__ == "__main__":
    main()
