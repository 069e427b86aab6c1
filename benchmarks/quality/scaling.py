"""Which allocation over time satisfies as often as asked, for the least? Real series, by pod.

Pods are divided into fit and test at random, several times; a policy decides every five samples
and sees the past of the same pod only. Goals for ``genai2026``: GPU memory at most 1.17
allocated per used at 98 % satisfied and 1.25 at 99 %, container memory 1.045 and 1.06, within
0.3 points of the target and 40 resizes per 1,000 samples. The baseline is the recent maximum.
At the kill rate of VPA's rule, memory is to take at most 0.8 of its allocation, with kills that
restart a pod and repeat its work; there the baseline is VPA.

    python benchmarks/quality/scaling.py [--splits 5] [--traces genai2026] [--phases hmm:5]

With ``--left-out 10`` every series is judged once, by what was learnt, tuned and chosen on nine
tenths of the others, at most 20 resizes per 1,000 samples; with 3, by two thirds. ``chosen`` is the
policy that each part was given, beside the best peer of those that did as asked. Memory at the
kill rate of VPA's rule is to take at most 0.8 of its allocation, CPU and duty cycle at 95, 98 and
99 % no more than that peer.

    python benchmarks/quality/scaling.py --left-out 10 [--traces genai2026] [--metrics gpu_util_pct]
"""

from __future__ import annotations

import argparse
import os
import sys
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.autoscale.allocation_measures import allocated_by_run
from prophase.autoscale.fleet import Fleet, fleet_of
from prophase.autoscale.objective import kill_objective
from prophase.autoscale.policy_comparison import (
    TOLERANCE_PTS,
    PolicyComparison,
    PolicyScore,
    compare,
    divided,
    frontier,
)
from prophase.stats import Blocks, ratio
from prophase.study.phase_scaling import phases_for
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True)
class Case:
    """A question about a trace: a metric, what is asked, and a goal if any."""

    trace: str
    metric: str
    #: share of samples to satisfy; None: as few kills as VPA's rule has
    target: float | None
    goal: float | None = None

    @property
    def asked(self) -> str:
        return "VPA's kill rate" if self.target is None else f"{self.target:.0%} asked"

    @property
    def baseline(self) -> str:
        return "vpa" if self.target is None else "recent-max"


CASES = (
    Case("genai2026", "gpu_memory_gib", 0.98, 1.17),
    Case("genai2026", "gpu_memory_gib", 0.99, 1.25),
    Case("genai2026", "memory_util_frac", 0.98, 1.045),
    Case("genai2026", "memory_util_frac", 0.99, 1.06),
    Case("genai2026", "gpu_memory_gib", None, 0.8),
    Case("genai2026", "memory_util_frac", None, 0.8),
    Case("surf-lisa", "cpu_cores", 0.99),
    Case("azure-vm-cpu", "cpu_util_peak_pct", 0.99),
    Case("bitbrains-small", "cpu_cores", 0.99),
    Case("blox-dstat", "memory_gib", 0.99),
)
LEFT_OUT = (
    Case("genai2026", "gpu_memory_gib", None, 0.8),
    Case("genai2026", "memory_util_frac", None, 0.8),
    *(
        Case(trace, metric, share)
        for trace, metric in (
            ("genai2026", "gpu_util_pct"),
            ("surf-lisa", "cpu_cores"),
            ("azure-vm-cpu", "cpu_util_peak_pct"),
            ("bitbrains-small", "cpu_cores"),
        )
        for share in (0.95, 0.98, 0.99)
    ),
)
#: what others use, each tuned on the same series as ours; all are held to so many resizes
PEERS = (
    "static",
    "vpa",
    "vpa-tuned",
    "autopilot",
    "recent-max",
    "period-daily",
    "holt",
    "boosting",
)
MOST_RESIZES = 20.0
#: series beyond so many samples are left out, drawn at random, ...
MOST_SAMPLES = 160_000
#: ... and with --left-out long runs end earlier, though not before so many: many series show more
#: than a few long ones
LEAST_OF_A_RUN = 600
SHOWN = (
    "allocation_over_usage",
    "satisfied_pct",
    "kills_per_pod_day",
    "violation_episodes",
    "unmet_pct",
    "resizes_per_1000",
    "cost",
    "worst_series_satisfied_pct",
)


def judge(
    case: Case, splits: int, policies: list[str] | None, figures: Path | None, phases: str
) -> None:
    """Compare policies on several divisions of a trace, and record each."""
    fleet, _ = fleet_of(open_trace(DATA / case.trace, tables=["usage"]).usage, case.metric)
    fleet = _at_most(fleet, MOST_SAMPLES)
    alone = len(fleet.series) == 1
    rows = []
    # a single series is divided by time, which gives one division only
    for seed in range(1 if alone else splits):
        sides = divided(fleet, test_share=0.3 if alone else 0.5, random_state=seed)
        asked = kill_objective(sides[0]) if case.target is None else case.target
        labeller = phases_for(sides[0], phases, random_state=seed)
        found = compare(*sides, target=asked, policies=policies, labeller=labeller)
        rows += [{"split": seed, **one.row()} for one in found.judged]
        print(f"{case.trace}, {case.metric}, split {seed}: {found.verdict()}", flush=True)
        print(pd.DataFrame([one.row() for one in found.gains]).round(2).to_string(), flush=True)
        if figures is not None and seed == 0:
            _draw(found, figures / f"{case.trace}-{case.metric}-{case.asked}")
    _recorded(pd.DataFrame(rows), case, policies)


def judge_left_out(
    case: Case, folds: int, policies: list[str] | None, samples: int = MOST_SAMPLES
) -> None:
    """Judge every series once, by policies that have not seen it."""
    fleet, _ = fleet_of(open_trace(DATA / case.trace, tables=["usage"]).usage, case.metric)
    fleet = _at_most(_cut(fleet, samples), samples)
    names = np.random.default_rng(0).permutation(fleet.series)
    rows, given = [], []
    for fold in range(folds):
        inside = set(names[fold::folds].tolist())
        test = fleet.only(sorted(inside))
        fit = fleet.only([name for name in fleet.series if name not in inside])
        asked = kill_objective(fit) if case.target is None else case.target
        found = compare(fit, test, target=asked, policies=policies, max_resizes=MOST_RESIZES)
        used = float(test.use.sum())
        weights = {
            "used": used,
            "samples": test.samples,
            "days": test.samples * test.step_s / 86_400,
        }
        chosen = found.winner or found.named(case.baseline)
        print(f"{case.metric}, {case.asked}, part {fold}: {chosen.policy}", flush=True)
        rows += [{**weights, **one.row()} for one in found.judged]
        rows.append({**weights, **chosen.row(), "policy": "chosen"})
        given.append(_by_series(found, chosen))
    pooled = pd.DataFrame(rows).groupby("policy", sort=False).apply(_pooled, include_groups=False)
    print(pooled.round(3).to_string(), flush=True)
    series = pd.concat(given)
    peer = _best_peer(pooled, case)
    for policy, one in pooled.iterrows():
        kills, between, base = "", "", case.baseline
        if policy == "chosen":
            base = peer
            over = ratio(series["chosen"], series[peer], Blocks.of(series["series"], unit="series"))
            between = f"95 % interval of the ratio {over.low:.3f} to {over.high:.3f}; "
        if case.target is None:
            kills = f"{one['kills_per_pod_day']:.2f} kills per pod-day, "
        record(
            Measurement(
                f"{case.metric}, {case.asked}, left out, {policy}",
                "allocated per used",
                [one["allocation_over_usage"]],
                base,
                [pooled.loc[base, "allocation_over_usage"]],
                case.trace,
                f"{folds} parts, {len(fleet.series):,} series, {fleet.samples:,} samples; "
                f"{between}satisfied {one['satisfied_pct']:.2f} %, "
                f"{kills}{one['resizes_per_1000']:.0f} resizes per 1,000",
            )
        )


def _by_series(found: PolicyComparison, chosen: PolicyScore) -> pd.DataFrame:
    """Return what each policy allocated to each run, with the name of its series."""
    rule, test = found.objective.rule, found.test
    sums = {one.policy: allocated_by_run(test, one.allocation, rule) for one in found.judged}
    return pd.DataFrame({"series": list(test.series_id), **sums, "chosen": sums[chosen.policy]})


def _best_peer(pooled: pd.DataFrame, case: Case) -> str:
    """Return the peer with the least allocation of those that did as asked; VPA for kills."""
    if case.target is None:
        return case.baseline
    kept = (pooled["satisfied_pct"] >= 100 * case.target - TOLERANCE_PTS) & (
        pooled["resizes_per_1000"] <= MOST_RESIZES
    )
    peers = pooled[kept & pooled.index.isin(PEERS)]["allocation_over_usage"]
    return str(peers.idxmin()) if len(peers) else case.baseline


def _pooled(part: pd.DataFrame) -> pd.Series:
    """Return the measures of all series together."""
    used, samples, days = (part[name] / part[name].sum() for name in ("used", "samples", "days"))
    return pd.Series(
        {
            "allocation_over_usage": (part["allocation_over_usage"] * used).sum(),
            "satisfied_pct": (part["satisfied_pct"] * samples).sum(),
            "kills_per_pod_day": (part["kills_per_pod_day"].astype(float) * days).sum(),
            "resizes_per_1000": (part["resizes_per_1000"] * samples).sum(),
        }
    )


def _cut(fleet: Fleet, samples: int) -> Fleet:
    """Return the beginnings of runs, as long as all of them fit into so many samples."""
    ends = range(int(fleet.lengths.max()) + 1)
    fit = bisect_right(ends, samples, key=lambda end: int(np.minimum(fleet.lengths, end).sum()))
    most = max(fit - 1, LEAST_OF_A_RUN)
    runs = [slice(run.start, min(run.stop, run.start + most)) for run in fleet.runs()]
    return fleet.parts(runs, list(fleet.series_id))


def _at_most(fleet: Fleet, samples: int) -> Fleet:
    if fleet.samples <= samples:
        return fleet
    return divided(fleet, test_share=samples / fleet.samples)[1]


def _recorded(rows: pd.DataFrame, case: Case, policies: list[str] | None) -> None:
    print(rows.groupby("policy", sort=False)[list(SHOWN)].mean().round(3).to_string(), flush=True)
    baseline = rows.loc[rows["policy"] == case.baseline, "allocation_over_usage"].tolist()
    for policy, part in rows.groupby("policy", sort=False):
        if policies is not None and policy not in policies:
            continue
        goal = f"; goal {case.goal}" if case.goal else ""
        low, high = part["satisfied_pct"].min(), part["satisfied_pct"].max()
        record(
            Measurement(
                f"{case.metric}, {case.asked}, {policy}",
                "allocated per used",
                part["allocation_over_usage"].tolist(),
                case.baseline,
                baseline,
                case.trace,
                f"satisfied {part['satisfied_pct'].mean():.2f} % ({low:.2f} to {high:.2f}), "
                f"{_kills(part)}"
                f"{part['resizes_per_1000'].mean():.0f} resizes per 1,000{goal}",
            )
        )


def _kills(part: pd.DataFrame) -> str:
    rate = part["kills_per_pod_day"].astype(float).mean()
    return "" if rate != rate else f"{rate:.2f} kills per pod-day, "


def _draw(found: PolicyComparison, folder: Path) -> None:
    from prophase.plots.autoscale import allocation_figure, frontier_figure
    from prophase.plots.style import save

    save(frontier_figure(frontier(found), found), folder, "frontier", formats=("png",))
    save(allocation_figure(found), folder, "allocation", formats=("png",))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--splits", type=int, default=5)
    options.add_argument("--traces", default="", help="Some of them, joined by commas.")
    options.add_argument("--policies", default="", help="Record some, joined by commas.")
    options.add_argument("--phases", default="crbm:5", help="As prophase autoscale --phases-from.")
    options.add_argument("--figures", type=Path)
    options.add_argument("--left-out", type=int, default=0, help="Parts, each judged once.")
    options.add_argument("--metrics", default="", help="With --left-out: some of them.")
    options.add_argument(
        "--shares", default="", help="With --left-out: some targets, as 0.95,0.99."
    )
    options.add_argument("--samples", type=int, default=MOST_SAMPLES, help="At most so many.")
    chosen = options.parse_args()
    if not DATA.is_dir():
        print(f"No real rows at {DATA}; set PROPHASE_DATA.")
        return
    for case in LEFT_OUT if chosen.left_out else CASES:
        if chosen.metrics and case.metric not in chosen.metrics.split(","):
            continue
        if chosen.shares and str(case.target) not in chosen.shares.split(","):
            continue
        if not chosen.traces or case.trace in chosen.traces.split(","):
            policies = chosen.policies.split(",") if chosen.policies else None
            if chosen.left_out:
                judge_left_out(case, chosen.left_out, policies, chosen.samples)
                continue
            judge(case, chosen.splits, policies, chosen.figures, chosen.phases)


if __name__ == "__main__":
    main()
