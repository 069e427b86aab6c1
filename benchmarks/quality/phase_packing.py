"""Does packing jobs by phase beat packing by request? Replays of real memory series.

Series become jobs: all submitted at once, as long as they were recorded, on nodes with four times
the largest memory. Phases are learnt from one half of the series, and the other half is packed:

- by request: the largest memory of the half that was learnt from, as a careful user asks;
- by its own peak, which nobody knows before;
- by phase: what each phase was seen to need at most (or in 95 % of samples), with or without room
  for the phase to come.

The mean time from submission to end is compared, with the kills in the remark. Halves are drawn
five times.

    python benchmarks/quality/phase_packing.py [DRAWS]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np
import pandas as pd

from prophase.phase.detector import PhaseDetector
from prophase.phase.phase_demand import phase_demand
from prophase.sim import Cluster, Workload, simulate
from prophase.sim.attempts import OUT_OF_MEMORY
from prophase.sim.rules.demand import PhasedDemand
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
#: trace, column of memory
SERIES = (("genai2026", "gpu_memory_gib"),)
WAYS = {
    "own peak": None,
    "phase, at most": ("max", 0),
    "phase, at most, next one too": ("max", 1),
    "phase, 95 %": ("q95", 0),
}
#: shortest series that has phases
SAMPLES = 25


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name, column in SERIES:
        trace = open_trace(DATA / name, tables=["usage"])
        usage = trace.usage[["series_id", "time_s", column]].dropna()
        usage = usage.rename(columns={column: "memory_gib"})
        count = usage.groupby("series_id")["memory_gib"].transform("size")
        peak = usage.groupby("series_id")["memory_gib"].transform("max")
        usage = usage[(count >= SAMPLES) & (peak > 0.01)]
        found: dict[str, list[tuple[float, int]]] = {}
        for seed in range(draws):
            for way, result in packed(usage, seed).items():
                found.setdefault(way, []).append(result)
        by_request = [mean for mean, _ in found.pop("request")]
        for way, results in found.items():
            kills = [killed for _, killed in results]
            record(
                Measurement(
                    f"time to end, {name}, packed by {way}", "h",
                    [mean / 3600 for mean, _ in results], "packed by request",
                    [mean / 3600 for mean in by_request], trace.data_hash[:12],
                    f"{sum(kills)} killed of {draws * (usage['series_id'].nunique() // 2)} jobs in "
                    f"{draws} draws of halves",
                )
            )  # fmt: skip


def packed(usage: pd.DataFrame, seed: int) -> dict[str, tuple[float, int]]:
    """Return the mean time to end and the kills of every way to pack."""
    names = usage["series_id"].unique()
    drawn = np.random.default_rng(seed).permutation(names)
    learnt = usage[usage["series_id"].isin(drawn[: len(names) // 2])]
    rest = usage[~usage["series_id"].isin(drawn[: len(names) // 2])]
    detector = PhaseDetector(labeller="hmm", n_phases=5, window=1, random_state=seed).fit(learnt)
    by_series = rest.groupby("series_id", sort=False)
    peaks = by_series["memory_gib"].max()
    jobs = pd.DataFrame(
        {
            "job_id": peaks.index.astype(str),
            "submit_s": 0.0,
            "duration_s": by_series["time_s"].agg(np.ptp).to_numpy() + 1.0,
            "request_gpus": 0.0,
            "request_memory_gib": max(learnt["memory_gib"].max(), peaks.max()),
        }
    )
    most = float(jobs["request_memory_gib"].max())
    cluster = Cluster.parse(f"{max(1, len(jobs) // 16)}x0 {4 * most + 0.01:.2f}g")
    results = {"request": _told(simulate(Workload.from_jobs(jobs), cluster))}
    for way, how in WAYS.items():
        if how is None:
            own = Workload.from_jobs(jobs.assign(request_memory_gib=peaks.to_numpy()))
            results[way] = _told(simulate(own, cluster))
            continue
        demand = PhasedDemand(phase_demand(detector, rest, hold=how[0]), how[1])
        results[way] = _told(simulate(Workload.from_jobs(jobs), cluster, demand=demand))
    return results


def _told(schedule) -> tuple[float, int]:
    killed = int((schedule.attempts.outcome == OUT_OF_MEMORY).sum())
    return float((schedule.end_s - schedule.workload.submit_s).mean()), killed


if __name__ == "__main__":
    main()
