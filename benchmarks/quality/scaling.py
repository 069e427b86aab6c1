"""Which allocation over time satisfies as often as asked, for the least? Real series, by pod.

Pods are divided into fit and test at random, several times; a policy decides every five samples
and sees the past of the same pod only. Goals for ``genai2026``: GPU memory at most 1.17
allocated per used at 98 % satisfied and 1.25 at 99 %, container memory 1.045 and 1.06, within
0.3 points of the target and 40 resizes per 1,000 samples. The baseline is the recent maximum.

    python benchmarks/quality/scaling.py [--splits 5] [--others] [--figures DIR]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.phase.scale import Comparison, Fleet, compare, divided, fleet_of, frontier
from prophase.trace.loading import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
GOALS = {
    ("gpu_memory_gib", 0.98): 1.17,
    ("gpu_memory_gib", 0.99): 1.25,
    ("memory_util_frac", 0.98): 1.045,
    ("memory_util_frac", 0.99): 1.06,
}
#: trace, metric, most samples: series beyond are left out, drawn at random
OTHERS = (
    ("surf-lisa", "cpu_cores", 400_000),
    ("azure-vm-cpu", "cpu_util_peak_pct", 400_000),
    ("bitbrains-small", "cpu_cores", 400_000),
    ("blox-dstat", "memory_gib", 400_000),
)
SHOWN = (
    "allocation_over_usage",
    "satisfied_pct",
    "violation_episodes",
    "unmet_pct",
    "resizes_per_1000",
    "cost",
    "worst_series_satisfied_pct",
)


def on_genai(splits: int, figures: Path | None) -> None:
    usage = open_trace(DATA / "genai2026").usage
    for (metric, target), goal in GOALS.items():
        fleet, _ = fleet_of(usage, metric)
        rows = []
        for seed in range(splits):
            found = compare(*divided(fleet, random_state=seed), target=target)
            rows += [{"split": seed, **one.row()} for one in found.judged]
            print(f"{metric} {target:.0%} split {seed}: {found.verdict()}", flush=True)
            if figures is not None and seed == 0:
                _draw(found, figures / f"{metric}-{target:.2f}")
        _recorded(pd.DataFrame(rows), metric, target, goal, "genai2026")


def on_others(splits: int, target: float) -> None:
    for trace, metric, most in OTHERS:
        fleet, _ = fleet_of(open_trace(DATA / trace).usage, metric)
        fleet = _at_most(fleet, most)
        rows = []
        # a single series is divided by time, which gives one division only
        for seed in range(splits if len(fleet.series) > 1 else 1):
            share = 0.5 if len(fleet.series) > 1 else 0.3
            sides = divided(fleet, test_share=share, random_state=seed)
            found = compare(*sides, target=target)
            rows += [{"split": seed, **one.row()} for one in found.judged]
            print(f"{trace} split {seed}: {found.verdict()}", flush=True)
        _recorded(pd.DataFrame(rows), metric, target, None, trace)


def _at_most(fleet: Fleet, samples: int) -> Fleet:
    if fleet.samples <= samples:
        return fleet
    return divided(fleet, test_share=samples / fleet.samples)[1]


def _recorded(
    rows: pd.DataFrame, metric: str, target: float, goal: float | None, trace: str
) -> None:
    print(rows.groupby("policy", sort=False)[list(SHOWN)].mean().round(3).to_string(), flush=True)
    baseline = rows.loc[rows["policy"] == "recent-max", "allocation_over_usage"].tolist()
    for policy, part in rows.groupby("policy", sort=False):
        met = f"; goal {goal}" if goal else ""
        low, high = part["satisfied_pct"].min(), part["satisfied_pct"].max()
        record(
            Measurement(
                f"{metric}, {target:.0%} asked, {policy}",
                "allocated per used",
                part["allocation_over_usage"].tolist(),
                "recent-max",
                baseline,
                trace,
                f"satisfied {part['satisfied_pct'].mean():.2f} % ({low:.2f} to {high:.2f}), "
                f"{part['resizes_per_1000'].mean():.0f} resizes per 1,000{met}",
            )
        )


def _draw(found: Comparison, folder: Path) -> None:
    from prophase.plots.scaling import allocation_figure, frontier_figure
    from prophase.plots.style import save

    save(frontier_figure(frontier(found), found), folder, "frontier", formats=("png",))
    save(allocation_figure(found), folder, "allocation", formats=("png",))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--splits", type=int, default=5)
    options.add_argument("--others", action="store_true", help="The other traces, not genai2026.")
    options.add_argument("--target", type=float, default=0.99, help="For the other traces.")
    options.add_argument("--figures", type=Path)
    chosen = options.parse_args()
    if not DATA.is_dir():
        print(f"No real rows at {DATA}; set PROPHASE_DATA.")
        return
    if chosen.others:
        on_others(min(chosen.splits, 2), chosen.target)
    else:
        on_genai(chosen.splits, chosen.figures)


if __name__ == "__main__":
    main()
