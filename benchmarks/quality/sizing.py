"""What sizers waste on real workflow traces, beside what users ask for.

One row per protocol, track and sizer: the geometric mean over the traces of waste relative to
the users' requests (a kill comes at the end of the run), with each trace and the failures in the
remark. Then the warm protocol of the literature, a frontier of waste against kills by risk, the
first runs of a task, a change of its code, what a job is told at submission (memory, time limit),
and the share that is really killed at three risks.

    python benchmarks/quality/sizing.py [--part table,warm,risk,cold,change,door,limits,
        others,realised] [--sizers default,...] [--settings "timeline input, ..." of the table]
        [--figures F] [--traces chipseq,... of realised]
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.sizing import compare, make_online_sizer, replay, task_runs
from prophase.sizing.recommender import learn_recommender
from prophase.sizing.replays.comparison import warm_split
from prophase.sizing.replays.learning_curve import cold_start_curve
from prophase.sizing.replays.replay import Replayed
from prophase.sizing.replays.task_runs import TaskRun
from prophase.sizing.resources import RESOURCES
from prophase.sizing.sizer import Outcome
from prophase.stats import calendar_blocks, share, wilson_ends
from prophase.trace.schema import known_at_submit
from prophase.trace.trace_tables import open_trace
from quality.proof import as_history
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
TRACES = {
    "chipseq": "trace_chipseq.csv.gz",
    "eager": "trace_eager.csv",
    "rnaseq": "trace_rnaseq.csv",
    "mag": "trace_mag.csv.gz",
}
SIZERS = (
    "maximum", "krr", "percentile", "vpa", "tovar", "witt-std", "witt-max", "witt-waste",
    "sizey", "default",
)  # fmt: skip
SETTINGS = [(p, t) for p in ("online", "timeline") for t in ("input", "strict")]
RISKS = (0.002, 0.003, 0.004, 0.01, 0.02, 0.05)
ASKED_RISKS = (0.002, 0.01, 0.05)
#: shares of the jobs after which a recommender is learnt, what it is compared with, and families
#: of wfinstances with so many jobs
CUTS = (0.4, 0.55, 0.7, 0.85)
RULES = ("ours", "KRR", "KRR, any")
FEWEST_JOBS = 190
#: logs with time limits, and so many later jobs of each
LOGS = {
    "KTH": "hpc-swf/kth-sp2-1996.part1.swf.gz",
    "wagap": "hpc-swf/cerit-wagap-2013.part1.swf.gz",
    "Theta": "hpc-swf/alcf-theta-2022.part1.swf.gz",
    "Cedar": "drac-slurm/cedar_2021-05.csv.gz",
    "Graham a": "drac-slurm/graham_2021-05a.csv.gz",
    "Graham b": "drac-slurm/graham_2021-05b.csv.gz",
    "MIT": "mit-supercloud",
    "XDMoD": "xdmod-sacct",
}
MOST_TOLD = 3000
KRR_LEAST_GIB = 100e6 / 2**30
#: Sizey itself on its own splits of the same traces, GB h and failures
SIZEY_GBH = {"chipseq": 66.4, "eager": 479.0, "rnaseq": 32.1, "mag": 264.0}
SIZEY_FAILURES = {"chipseq": 237, "eager": 153, "rnaseq": 71, "mag": 885}
WARM_SEEDS = (1, 2, 3, 4, 5)
GB_PER_GIB = 2**30 / 1e9


def jobs_of(trace: str) -> Any:
    return open_trace(DATA / "nextflow" / TRACES[trace], tables=["jobs"]).jobs


def geometric(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def said(rows: dict[str, dict[str, float]]) -> str:
    return "; ".join(
        f"{trace} {row['relative']:.3f} with {row['failures']:.0f} failures"
        for trace, row in rows.items()
    )


def table(jobs: dict[str, Any], sizers: list[str], settings: list[tuple[str, str]]) -> None:
    """Sizers by protocol and track."""
    for protocol, track in settings:
        found = {
            trace: {
                row["sizer"]: row
                for row in compare(
                    held, [*{"krr": 0, **dict.fromkeys(sizers)}], protocol=protocol, track=track
                )["sizers"]
            }
            for trace, held in jobs.items()
        }
        krr = geometric([found[trace]["krr"]["relative"] for trace in found])
        for sizer in sizers:
            rows = {trace: found[trace][sizer] for trace in found}
            mean = geometric([row["relative"] for row in rows.values()])
            half = sum(row["waste_half_h"] / row["waste_h"] for row in rows.values()) / len(rows)
            record(
                Measurement(
                    f"{protocol} {track}: {sizer}", "of the users' waste", [mean],
                    "KRR's rule", [krr], "nextflow",
                    f"{said(rows)}; kills halfway: x {half:.2f}",
                )
            )  # fmt: skip


def warm(jobs: dict[str, Any], sizers: list[str]) -> None:
    """Some history first, as in the literature, beside Sizey itself."""
    for sizer in [one for one in ("maximum", "krr", "sizey", "default") if one in sizers]:
        means = []
        wasted: dict[str, list[float]] = {}
        killed: dict[str, list[float]] = {}
        for seed in WARM_SEEDS:
            rows = {
                trace: compare(held, [sizer], protocol="warm", seed=seed)["sizers"][0]
                for trace, held in jobs.items()
            }
            means.append(geometric([row["relative"] for row in rows.values()]))
            for trace, row in rows.items():
                killed.setdefault(trace, []).append(row["failures"])
                wasted.setdefault(trace, []).append(GB_PER_GIB * row["waste_h"])
        against = "; ".join(
            f"{trace} {np.mean(held):.1f} GBh ({min(held):.1f} to {max(held):.1f}; Sizey "
            f"{SIZEY_GBH[trace]})"
            for trace, held in wasted.items()
        )
        record(
            Measurement(
                f"warm input: {sizer}", "of the users' waste", means, data="nextflow",
                remark=f"{against}; failures "
                f"{', '.join(f'{t} {np.mean(k):.0f}' for t, k in killed.items())} (Sizey "
                f"{', '.join(map(str, SIZEY_FAILURES.values()))})",
            )
        )  # fmt: skip


def by_risk(jobs: dict[str, Any], figures: Path | None) -> None:
    """Waste and kills by risk, online with inputs; KRR's rule beside it."""
    line, found = [], {}
    for risk in (None, *RISKS):
        found[risk] = {
            trace: compare(held, ["krr", "default"], risk=risk)["sizers"]
            for trace, held in jobs.items()
        }
        ours = {trace: rows[1] for trace, rows in found[risk].items()}
        mean = geometric([row["relative"] for row in ours.values()])
        tasks = sum(row["tasks"] for row in ours.values())
        kills = sum(row["oom_share"] * row["tasks"] for row in ours.values())
        line.append({"oom_share": kills / tasks, "relative": mean})
        most = max(int(row["most_attempts"]) for row in ours.values())
        shares = ", ".join(f"{100 * row['oom_share']:.2f} %" for row in ours.values())
        default = geometric([found[None][trace][1]["relative"] for trace in jobs])
        failures = sum(row["failures"] for row in ours.values())
        record(
            Measurement(
                f"online input, risk {risk if risk is not None else 'not set'}",
                "of the users' waste", [mean], "the default", [default], "nextflow",
                f"killed: {shares}; {failures:.0f} failures, at most {most} attempts; {said(ours)}",
            )
        )  # fmt: skip
    if figures is not None:
        from prophase.plots.sizing import frontier
        from prophase.plots.style import save

        krr = {trace: rows[0] for trace, rows in found[None].items()}
        share = sum(r["oom_share"] * r["tasks"] for r in krr.values()) / sum(
            row["tasks"] for row in krr.values()
        )
        mark = {"relative": geometric([r["relative"] for r in krr.values()]), "oom_share": share}
        line.sort(key=lambda point: point["oom_share"])
        save(frontier({"default, by risk": line}, {"KRR's rule": mark}), figures, "frontier")


def cold(jobs: dict[str, Any], figures: Path | None) -> None:
    """The first runs of each task: waste by how many came before."""
    curves = {}
    for sizer in ("krr", "default"):
        pooled: dict[float, list[float]] = {}
        for held in jobs.values():
            for point in cold_start_curve(replay(task_runs(held), make_online_sizer(sizer))):
                pooled.setdefault(point["seen"], []).append(point["relative"])
        curves[sizer] = [
            {"seen": seen, "relative": float(np.mean(values))} for seen, values in pooled.items()
        ]
    for ours, theirs in zip(curves["default"], curves["krr"], strict=True):
        record(
            Measurement(
                f"cold start: after {ours['seen']:.0f} runs", "of the users' waste",
                [ours["relative"]], "KRR's rule", [theirs["relative"]], "nextflow",
            )
        )  # fmt: skip
    if figures is not None:
        from prophase.plots.sizing import cold_start
        from prophase.plots.style import save

        save(cold_start(curves), figures, "cold-start")


def changed_runs(factor: float, seed: int, runs: int = 200, new: int = 200) -> list[TaskRun]:
    """A task with noisy peaks that needs ``factor`` times as much from one run on."""
    random = np.random.default_rng(seed)
    level = np.r_[np.full(runs, 4.0), np.full(new, 4.0 * factor)]
    peaks = level * random.lognormal(0.0, 0.1, runs + new)
    asked = {"workflow": "w", "request_gib": 32.0}
    return [
        TaskRun("task", asked, {}, float(peak), 1.0, 32.0, float(i), float(i), i + 0.5)
        for i, peak in enumerate(peaks)
    ]


def change(_: dict[str, Any]) -> None:
    """A change of code: waste of the runs after it, with and without noticing it."""
    for factor in (1.6, 0.5):
        after: dict[str, list[float]] = {"default": [], "krr": []}
        kills = []
        for seed in range(5):
            for sizer, values in after.items():
                done: Replayed = replay(
                    changed_runs(factor, seed), make_online_sizer(sizer), node=32.0
                )
                late = done.decisions[200:]
                values.append(sum(one.waste() for one in late) / sum(one.run.peak for one in late))
                if sizer == "default":
                    kills.append(sum(len(one.asked) > 1 for one in late[:20]))
        record(
            Measurement(
                f"task that needs x {factor} from run 200 on", "waste / use afterwards",
                after["default"], "KRR's rule", after["krr"], "made up, 5 seeds",
                f"killed in the first 20 runs after it: {np.mean(kills):.1f}",
            )
        )  # fmt: skip


def others(_: dict[str, Any]) -> None:
    """Traces the sizer was not shaped on: other workflows, and GPU memory of networks."""
    for name, resource in (("wfinstances", "memory"), ("gpumemnet", "gpu-memory")):
        jobs = open_trace(DATA / name, tables=["jobs"]).jobs
        runs = task_runs(jobs, resource=resource)
        found = {}
        for sizer in ("maximum", "krr", "sizey", "default", "default at 1 %"):
            cautious = sizer == "default at 1 %"
            sized = make_online_sizer(None if cautious else sizer, 0.01 if cautious else None)
            if resource == "gpu-memory":
                # no order of submission: a random one, some of it as history
                history, rest = warm_split(runs.runs, seed=1)
                sized.learn(Outcome(r.task, r.features, r.peak, r.runtime_h) for r in history)
                found[sizer] = replay(rest, sized, node=runs.largest_request).summary()
            else:
                found[sizer] = replay(runs, sized).summary()
        ours, krr = found["default"], found["krr"]
        record(
            Measurement(
                f"{name}, online", "amount x h wasted", [ours["waste_h"]], "KRR's rule",
                [krr["waste_h"]], name,
                "; ".join(
                    f"{sizer} {row['waste_h']:.4g} with {row['failures']:.0f} failures"
                    for sizer, row in found.items()
                ),
            )
        )  # fmt: skip


def door(jobs: dict[str, Any]) -> None:
    """What a submitted job is told, learnt at a cut-off date and never told how it went.

    KRR's rule as its program has it, with at least 100 MB, and beside it without that minimum.
    Families of wfinstances have requests that are made up and no clock.
    """
    rows = []
    for trace, held in (jobs | families()).items():
        for cut in CUTS:
            found = at_cut(held, cut)
            rows.append({"trace": trace, "cut": cut, **found})
            print(trace, cut, found, flush=True)
    for name, of in (("4 workflows", set(jobs)), ("12 traces", {row["trace"] for row in rows})):
        members = [row for row in rows if row["trace"] in of]
        means = {rule: geometric([row[rule][0] for row in members]) for rule in RULES}
        told = "; ".join(
            f"{trace} {_by_rule([row for row in members if row['trace'] == trace])}"
            for trace in dict.fromkeys(row["trace"] for row in members)
        )
        record(
            Measurement(
                f"at submission, {name} learnt at {len(CUTS)} dates, no feedback, risk 1 %",
                "of the users' waste", [means["ours"]], "KRR's rule", [means["KRR"]], name,
                f"KRR without a minimum {means['KRR, any']:.3f}; waste and highest share killed: "
                f"{told}",
            )
        )  # fmt: skip


def _by_rule(rows: list[dict[str, Any]]) -> str:
    return ", ".join(
        f"{rule} {geometric([row[rule][0] for row in rows]):.3f} "
        f"{100 * max(row[rule][1] for row in rows):.1f} %"
        for rule in RULES
    )


def families() -> dict[str, Any]:
    """Return the larger families of wfinstances as histories."""
    jobs = open_trace(DATA / "wfinstances", tables=["jobs"]).jobs
    found = {f"wf-{name}": as_history(held) for name, held in jobs.groupby("workload")}
    return {name: held for name, held in found.items() if len(held) >= FEWEST_JOBS}


def limits(_: dict[str, Any]) -> None:
    """Time limits that a submitted job is told at a cut-off date: how many runs they end.

    Of each log at most 3,000 later jobs, evenly spread, are told theirs.
    """
    for name, path in LOGS.items():
        jobs = open_trace(DATA / path, tables=["jobs"]).jobs
        found = [at_cut(jobs, cut, "time") for cut in CUTS]
        means = {rule: np.mean([one[rule][0] for one in found]) for rule in RULES}
        told = "; ".join(
            f"{rule} ended {', '.join(f'{100 * one[rule][1]:.2f}' for one in found)} %"
            for rule in ("ours", "KRR, any")
        )
        changed = ", ".join(f"{100 * one['changed'][0]:.0f}" for one in found)
        record(
            Measurement(
                f"time limits at submission, {name}, no feedback, risk 1 %",
                "of the unused limits", [float(means["ours"])], "highest + 15 %",
                [float(means["KRR, any"])], name,
                f"at {len(CUTS)} dates: {told}; {changed} % of later jobs are told another limit",
            )
        )  # fmt: skip


def at_cut(held: Any, cut: float, resource: str = "memory") -> dict[str, tuple[float, float]]:
    """Return, by rule, waste against the requests and the share killed of the jobs after a date."""
    what = RESOURCES[resource]
    listed = task_runs(held, track="strict", resource=resource).runs
    runs = [run for run in listed if run.request > 0]
    until = float(np.quantile([run.submit_s for run in runs], cut))
    ended = task_runs(held, track="strict", resource=resource, cut_off=True).runs
    known = {run.job_id for run in ended if run.end_s <= until}
    later = [run for run in runs if run.submit_s >= until]
    if not what.held:
        # some systems let runs go on beyond their limit: nothing can be said of those
        later = [replace(run, runtime_h=1.0) for run in later if run.peak <= run.request]
    later = later[:: max(1, len(later) // MOST_TOLD)]
    recommender = learn_recommender(
        held[held["job_id"].astype(str).isin(known)], resources=[resource]
    )
    rows = held.assign(job_id=held["job_id"].astype(str)).drop_duplicates("job_id")
    rows = rows.set_index("job_id")
    columns = known_at_submit(rows.columns)
    highest: dict[str, float] = {}
    for run in runs:
        if run.end_s <= until:
            highest[run.task] = max(highest.get(run.task, 0.0), run.peak)
    ladders: dict[str, list[tuple[float, ...]]] = {rule: [] for rule in RULES}
    changed = 0
    for run in later:
        job = rows.loc[run.job_id, columns].dropna().to_dict()
        one = recommender.recommend(job, [resource])[0]
        rungs = tuple(rung * what.request_factor for rung in one.ladder)
        ladders["ours"].append(rungs or (run.request,))
        changed += one.change
        rule = 1.15 * highest[run.task] if run.task in highest else run.request
        ladders["KRR"].append((min(max(rule, KRR_LEAST_GIB), run.request), run.request))
        ladders["KRR, any"].append((min(rule, run.request), run.request))
    users = sum((run.request - run.peak) * run.runtime_h for run in later)
    found = {"changed": (changed / len(later), 0.0)}
    for name, asked in ladders.items():
        wasted = sum(_wasted(run, rungs) for run, rungs in zip(later, asked, strict=True))
        killed = [
            rungs[0] < run.peak
            for run, rungs in zip(later, asked, strict=True)
            if run.peak <= run.request
        ]
        found[name] = max(wasted / users, 1e-3), float(np.mean(killed)) if killed else 0.0
    return found


def realised(jobs: dict[str, Any], traces: list[str]) -> None:
    """The share of runs that is killed at their first request, beside the risk that was asked for.

    Workflows online and by the clock; wfinstances has no clock, gpumemnet no order: each run ends
    before the next there. Days are the blocks of an interval where a trace has enough of them.
    """
    loaded = {name: ("memory", held) for name, held in jobs.items()}
    for name, resource in (("wfinstances", "memory"), ("gpumemnet", "gpu-memory")):
        loaded[name] = resource, open_trace(DATA / name, tables=["jobs"]).jobs
    for name in traces:
        resource, held = loaded[name]
        runs = task_runs(held, resource=resource)
        for protocol in ("online", "timeline") if name in jobs else ("online",):
            for risk in ASKED_RISKS:
                sizer, rest = make_online_sizer(None, risk), runs.runs
                if resource == "gpu-memory":
                    history, rest = warm_split(runs.runs, seed=1)
                    sizer.learn(Outcome(r.task, r.features, r.peak, r.runtime_h) for r in history)
                done = replay(rest, sizer, protocol=protocol, node=runs.largest_request)
                holds = [one for one in done.decisions if not one.run.peak > one.run.request]
                killed = np.array([len(one.asked) > 1 for one in holds])
                found = share(killed, calendar_blocks([one.run.submit_s for one in holds]))
                low, high = (found.low, found.high)
                if not found.known:
                    low, high = (
                        float(end[0])
                        for end in wilson_ends(np.array([found.value]), len(killed), 1.96)
                    )
                fits = "below" if low > risk else "above" if high < risk else "within"
                record(
                    Measurement(
                        f"realised risk, {protocol}, {name}, asked {100 * risk:g} %",
                        "% killed", [100 * found.value], "asked", [100 * risk], name,
                        f"95 % CI {100 * low:.2f} to {100 * high:.2f}: the risk asked for is "
                        f"{fits} it; {len(killed):,} runs, "
                        f"{done.summary()['waste_h']:.4g} {runs.resource.unit} h wasted",
                    )
                )  # fmt: skip


def _wasted(run: TaskRun, rungs: tuple[float, ...]) -> float:
    """Return what a job wastes that climbs these rungs, then its own request, then twice that."""
    plenty = max(run.request, rungs[-1])
    wasted = 0.0
    for rung in (*rungs, plenty, 2 * max(plenty, run.peak)):
        if rung >= run.peak:
            return (wasted + rung - run.peak) * run.runtime_h
        wasted += rung
    return wasted * run.runtime_h


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", default="table,warm,risk,cold,change,door,limits,others,realised")
    parser.add_argument("--sizers", default=",".join(SIZERS))
    parser.add_argument("--settings", default=", ".join(" ".join(one) for one in SETTINGS))
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--traces", default=",".join([*TRACES, "wfinstances", "gpumemnet"]))
    options = parser.parse_args()
    parts, sizers = options.part.split(","), options.sizers.split(",")
    jobs = (
        {trace: jobs_of(trace) for trace in TRACES}
        if set(parts) - {"change", "limits", "others"}
        else {}
    )
    if "table" in parts:
        table(jobs, sizers, [one for one in SETTINGS if " ".join(one) in options.settings])
    if "warm" in parts:
        warm(jobs, sizers)
    if "risk" in parts:
        by_risk(jobs, options.figures)
    if "cold" in parts:
        cold(jobs, options.figures)
    if "change" in parts:
        change(jobs)
    if "door" in parts:
        door(jobs)
    if "limits" in parts:
        limits(jobs)
    if "others" in parts:
        others(jobs)
    if "realised" in parts:
        realised(jobs, options.traces.split(","))


if __name__ == "__main__":
    main()
