"""Is new behaviour noticed, and are changes of phase foreseen? Real series, others than learnt.

New behaviour: phases learnt from training containers (DLaaS) meet voice recognition, and each
training container meets phases learnt from the others. Needed: at least 95 % of the first
flagged, at most 5 % of the second.

Forecasts: phases and what follows them are learnt from some series and judged on others, at
changes only, beside the rule that expects the commonest phase after a usual stay. "Stays the
same" foresees no change by definition; its share of all samples is in the remark.

    python benchmarks/quality/phases_ahead.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.phase.detector import PhaseDetector
from prophase.phase.next_phase import score_forecasts
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
#: series per side, samples of each, phases: enough to learn from in a minute
SERIES, SAMPLES, PHASES = 12, 1_000, 5
TRACES = (
    ("genai2026", ["memory_util_frac", "gpu_util_pct", "gpu_memory_gib"]),
    ("bitbrains-small", ["cpu_cores"]),
    ("surf-lisa", ["cpu_cores"]),
    ("azure-vm-cpu", ["cpu_util_pct", "cpu_util_peak_pct"]),
)


def new_behaviour() -> None:
    known = open_trace(DATA / "ai4dl" / "sample-dlaas.csv").usage
    other = open_trace(DATA / "ai4dl" / "sample-vr.csv").usage
    flagged, alarms = [], []
    for left_out in known["series_id"].unique():
        inside = known["series_id"] == left_out
        found = PhaseDetector("samples", n_phases=3).fit(known[~inside])
        flagged.append(100 * float(found.label(other)["new"].mean()))
        alarms.append(100 * float(found.label(known[inside])["new"].mean()))
    data = f"{len(alarms)} DLaaS executions, each left out once; {len(other):,} samples of VR"
    record(Measurement("new behaviour flagged, VR", "% of samples", flagged, data=data,
                       remark="needed: 95 or more"))  # fmt: skip
    record(Measurement("left-out DLaaS execution flagged", "% of samples", alarms, data=data,
                       remark=f"needed: 5 or less; largest {max(alarms):.1f}"))  # fmt: skip


def forecasts(trace: str, metrics: list[str]) -> None:
    usage = open_trace(DATA / trace, tables=["usage"]).usage
    usage = usage.dropna(subset=metrics)
    counts = usage["series_id"].value_counts()
    long = counts.index[counts >= SAMPLES // 2].to_numpy()
    drawn = np.random.default_rng(0).permutation(long)[: 2 * SERIES]
    sides = [_some(usage, drawn[0::2]), _some(usage, drawn[1::2])]
    detector = PhaseDetector(n_phases=PHASES, window=1, metrics=metrics).fit(sides[0])
    labels = [part["phase"].to_numpy() for _, part in detector.label(sides[1]).groupby("series_id")]
    rows = {row["rule"]: row for row in score_forecasts(detector.next_, labels)}
    ours, usual, same = rows["learnt"], rows["commonest"], rows["stays the same"]
    data = f"{trace}, {len(drawn) // 2} series learnt from and as many judged, {PHASES} phases"
    told = f"{ours['changes']:,} changes; 'stays the same' is right at none of them and at "
    told += f"{same['all_right_pct']:.1f} % of all samples"
    record(Measurement("next phase right", "% of changes", [ours["next_right_pct"]],
                       "commonest phase", [usual["next_right_pct"]], data, told))  # fmt: skip
    warned = f"warned within 5 samples before: {ours['warned_pct']:.0f} % of changes (usual stay: "
    warned += f"{usual['warned_pct']:.0f} %); too early: {ours['false_pct']:.0f} % of warnings "
    warned += f"({usual['false_pct']:.0f} %)"
    record(Measurement("error of the time to change", "factor, 1 is right", [ours["off_factor"]],
                       "usual stay", [usual["off_factor"]], data, warned))  # fmt: skip


def _some(usage: pd.DataFrame, names: np.ndarray) -> pd.DataFrame:
    part = usage[usage["series_id"].isin(names)].sort_values(["series_id", "time_s"])
    return part.groupby("series_id").head(SAMPLES).reset_index(drop=True)


def main() -> None:
    if not DATA.is_dir():
        print(f"No real rows at {DATA}; set PROPHASE_DATA.")
        return
    new_behaviour()
    for trace, metrics in TRACES:
        forecasts(trace, metrics)


if __name__ == "__main__":
    main()
