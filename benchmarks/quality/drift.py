"""Do predictions stay right? Quiet streams, streams with a known change, and real ones.

Quiet streams are made of real jobs (and synthetic ones, which have profiles): blocks of jobs that
followed each other are drawn in random order and put on an even clock, so bursts stay and nothing
else changes over time. A change hits a fifth of the jobs: the runs of some users or groups, their
use, or their names. A watcher that only looks on, over the same jobs, is the baseline; one of
the stream without the change says how good predictions would have been. Real traces in their own
order are a sanity check: they do change, nobody knows when.

The default method takes about ten times as long as shrinkage, so it is run on few streams.

"Peers" gives the errors of a predictor that learnt from the history, and nothing since, to ADWIN,
Page-Hinkley and KSWIN of river (install it to see them), at their own settings: the same streams,
the same changes. They look at one series and mend nothing.

    python benchmarks/quality/drift.py [--part quiet,changes,real] [--seeds 3] [--method default]
    python benchmarks/quality/drift.py --part peers --seeds 1 --jobs 5000
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.drift.step_log import WatchStep
from prophase.profile.drift.watcher import Watcher
from prophase.profile.predict.methods import predictor_named
from prophase.profile.predict.submit_columns import arrivals, outcomes
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import open_trace
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
SYNTHETIC = "synth pai"
#: trace -> column whose values change together
STREAMS = {
    SYNTHETIC: "workload",
    "drac-slurm": "group",
    "google2011-jobs": "user",
    "hpc-swf/kth-sp2-1996.part1.swf.gz": "user",
}
REAL = ("drac-slurm", "google2011-jobs", "mit-supercloud", "philly-cluster-state", "philly")
HISTORY, QUIET, CHANGED = 4_000, 500, 2_500
BLOCK = 20
SHARE = 0.2
#: jobs after a change by which it has to be mended, and those whose errors are then compared
MENDED, JUDGED = 500, 2_000
#: what happens to the jobs that are hit
KINDS = ("runs x 5", "runs x 0.2", "runs x 2", "names", "use x 3")
#: affected jobs within which a change has to be noticed
ENOUGH = 200
USAGE = ("cpu_", "memory_", "gpu_")


@dataclass
class Found:
    """What became of the streams with one kind of change, one entry per stream."""

    affected: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    error_unmended: list[float] = field(default_factory=list)
    moved: list[float] = field(default_factory=list)
    early: int = 0
    missed: int = 0


def in_order(name: str, jobs: int, seed: int) -> pd.DataFrame:
    """Return ended jobs of a trace in the order they came."""
    if name == SYNTHETIC:
        table = make_pai(jobs=max(2 * jobs, 8_000), random_state=seed).jobs
    else:
        table = open_trace(DATA / name, tables=["jobs"]).jobs
    ended = table[np.isfinite(outcomes(table, "duration_s"))]
    return ended.iloc[np.argsort(arrivals(ended), kind="stable")].reset_index(drop=True)


def quiet_stream(name: str, jobs: int, seed: int) -> pd.DataFrame:
    """Return jobs of a trace in blocks of random order, on an even clock."""
    table = in_order(name, jobs, seed)
    draw = np.random.default_rng(seed)
    starts = draw.permutation(len(table) // BLOCK)[: -(-jobs // BLOCK)] * BLOCK
    rows = (starts[:, None] + np.arange(BLOCK)).ravel()[:jobs]
    drawn = table.iloc[rows].reset_index(drop=True)
    # few jobs run at a time, so that the order of ends is nearly that of submissions
    spacing = float(drawn["duration_s"].quantile(0.99)) / 50
    begin = 1_600_000_000.0 + spacing * np.arange(len(drawn))
    return drawn.assign(
        job_id=[f"j{number}" for number in range(len(drawn))],
        submit_s=begin,
        start_s=begin,
        end_s=begin + drawn["duration_s"],
    )


def watched(
    jobs: pd.DataFrame, profiler: WorkloadProfiler | None, method: str, *, act: bool = True
) -> tuple[Watcher, list[WatchStep]]:
    watcher = Watcher(method=method, act=act).fit(jobs[:HISTORY], profiler)
    return watcher, watcher.update(jobs[HISTORY:])


@cache
def watched_quiet(name: str, jobs: int, seed: int, method: str) -> tuple[Watcher, list[WatchStep]]:
    return watched(quiet_stream(name, jobs, seed), profiles_of(name, jobs, seed), method, act=False)


@cache
def profiles_of(name: str, jobs: int, seed: int) -> WorkloadProfiler | None:
    if name != SYNTHETIC:
        return None
    return WorkloadProfiler().fit(quiet_stream(name, jobs, seed)[:HISTORY])


def quiet(streams: list[str], method: str, seeds: int, jobs: int) -> None:
    """Count false alarms."""
    for name in streams:
        counts, total = [], 0
        for seed in range(seeds):
            watcher, steps = watched_quiet(name, HISTORY + jobs, seed, method)
            counts.append(1e4 * len(steps) / watcher.watched_)
            total += watcher.watched_
            told = [one.reason.split(":")[0] for one in steps]
            print(f"  {name}, {method}, seed {seed}: {told}", flush=True)
        held = f"{total:,} jobs, mean {np.mean(counts):.2f}"
        title = f"quiet {name}, {method}: false alarms"
        record(Measurement(title, "per 10,000 jobs", counts, data=name, remark=held))


def fifth(jobs: pd.DataFrame, column: str, draw: np.random.Generator) -> np.ndarray:
    """Return jobs of randomly chosen values of a column that make about a fifth of all."""
    share = jobs[column].astype("string").fillna("").value_counts(normalize=True)
    chosen: list[str] = []
    for value in draw.permutation(share.index.to_numpy(dtype=object)):
        if value == "":
            continue
        if share[[*chosen, value]].sum() <= SHARE + 0.02:
            chosen.append(value)
        if share[chosen].sum() >= SHARE - 0.02:
            break
    return jobs[column].astype("string").fillna("").isin(chosen).to_numpy(dtype=bool)


def changed_stream(jobs: pd.DataFrame, kind: str, hit: np.ndarray, column: str) -> pd.DataFrame:
    """Return the stream with a change of the jobs that are hit."""
    made = jobs.copy()
    word, _, factor = kind.partition(" x ")
    if word == "runs":
        made.loc[hit, "duration_s"] *= float(factor)
        made["end_s"] = made["start_s"] + made["duration_s"]
    elif word == "use":
        for name in [one for one in made if one.startswith(USAGE) and made[one].dtype.kind == "f"]:
            made.loc[hit, name] *= float(factor)
    else:
        made.loc[hit, column] = "renamed " + made.loc[hit, column].astype(str)
    return made


def one_change(name: str, kind: str, seed: int, method: str, found: Found) -> None:
    rows = HISTORY + QUIET + CHANGED
    jobs = quiet_stream(name, rows, seed)
    draw = np.random.default_rng(1_000 + seed)
    change = HISTORY + QUIET
    profiler = profiles_of(name, rows, seed)
    among = jobs
    if profiler is not None and kind.startswith("use"):
        # whole profiles change: outliers have none that could
        labels = pd.Series(profiler.predict(jobs))
        among = jobs.assign(**{STREAMS[name]: labels.where(labels >= 0, np.nan)})
    hit = fifth(among, STREAMS[name], draw) & (np.arange(rows) >= change)
    changed = changed_stream(jobs, kind, hit, STREAMS[name])
    mended, steps = watched(changed, profiler, method)
    alarms = [one for one in steps if one.kind == "alarm"]
    found.early += sum(one.jobs < QUIET for one in alarms)
    noticed = next((one for one in alarms if one.jobs >= QUIET), None)
    ends = np.argsort(changed["end_s"].to_numpy()[HISTORY:], kind="stable")
    found.affected.append(float(hit[HISTORY:][ends][: noticed.jobs if noticed else None].sum()))
    found.missed += noticed is None
    looked_on, _ = watched(changed, profiler, method, act=False)
    judged = {f"j{row}" for row in range(change + MENDED, change + JUDGED)}
    usual = error_of(watched_quiet(name, rows, seed, method)[0], judged)
    found.error.append(error_of(mended, judged) / usual)
    found.error_unmended.append(error_of(looked_on, judged) / usual)
    kept = ""
    if profiler is not None and mended.profiler_ is not None:
        before, after = profiler.predict(jobs), mended.profiler_.predict(jobs)
        gone = {number for one in steps for number in one.retired}
        untouched = (before >= 0) & ~np.isin(before, list(gone))
        found.moved.append(float((before[untouched] != after[untouched]).mean()))
        kept = f", {len(gone)} profiles retired, {found.moved[-1]:.2%} of the others' jobs moved"
    what = noticed.reason.split(":")[0] if noticed else "not noticed"
    repairs = [one.repair.get("action", "-") for one in steps]
    print(
        f"  {name}, {kind}, seed {seed}: {what}, {found.affected[-1]:.0f} of {hit.sum()}; error "
        f"{found.error[-1]:.2f} (looking on {found.error_unmended[-1]:.2f}); {repairs}{kept}",
        flush=True,
    )


def error_of(watcher: Watcher, ids: set[str]) -> float:
    """Return the median absolute log error of some jobs."""
    chosen = watcher.records_.table()["job_id"].isin(ids).to_numpy()
    return float(np.nanmedian(np.abs(watcher.records_.error[chosen])))


def changes(streams: list[str], kinds: list[str], method: str, seeds: int) -> None:
    """Notice and mend known changes."""
    for kind in kinds:
        found = Found()
        for name in streams:
            for seed in range(seeds):
                if not kind.startswith("use") or name == SYNTHETIC:
                    one_change(name, kind, seed, method, found)
        if not found.affected:
            continue
        within = 100 * float(np.mean(np.array(found.affected) <= ENOUGH))
        title = f"a fifth of the jobs, {kind}, {method}"
        data = ", ".join(streams)
        seen = f"within {ENOUGH}: {within:.0f} %, missed {found.missed}, before it {found.early}"
        record(Measurement(f"{title}: noticed after", "affected jobs", found.affected,
                           data=data, remark=seen))  # fmt: skip
        worst = f"mean {np.mean(found.error):.2f}, worst {max(found.error):.2f}"
        record(Measurement(f"{title}: error {MENDED} jobs later / without the change", "",
                           found.error, "looking on", found.error_unmended,
                           data=data, remark=worst))  # fmt: skip
        if found.moved:
            record(Measurement(f"{title}: untouched profiles' jobs that moved", "", found.moved))


def errors_of(jobs: pd.DataFrame, method: str) -> np.ndarray:
    """Return log errors of the jobs after the history, learnt once, in deviations of usual ones."""
    held = HISTORY * 3 // 4
    predictor = predictor_named(method).fit(jobs[:held])
    asked = jobs[held:]
    missed = np.log(outcomes(asked, "duration_s") / predictor.predict(asked)["value"].to_numpy())
    usual = missed[: HISTORY - held]
    return np.nan_to_num((missed[len(usual) :] - np.nanmean(usual)) / np.nanstd(usual))


def peers(streams: list[str], method: str, seeds: int, jobs: int) -> None:
    """Let detectors of river watch the same streams: false alarms, and changes that are noticed."""
    try:
        from river import drift
    except ImportError:
        print("river is not installed: no peers.")
        return
    makes = {
        "ADWIN": drift.ADWIN,
        "Page-Hinkley": drift.PageHinkley,
        "KSWIN": lambda: drift.KSWIN(seed=0),
    }
    false: dict[str, list[float]] = {name: [] for name in makes}
    after: dict[tuple[str, str], list[float]] = {}
    missed: dict[tuple[str, str], int] = {}
    kinds = [kind for kind in KINDS if kind.startswith("runs")]
    for stream in streams:
        for seed in range(seeds):
            calm = quiet_stream(stream, HISTORY + jobs, seed)
            series = errors_of(calm, method)
            for name, make in makes.items():
                false[name].append(1e4 * len(alarms_of(make(), series)) / len(series))
            rows = HISTORY + QUIET + CHANGED
            draw = np.random.default_rng(1_000 + seed)
            hit = fifth(calm[:rows], STREAMS[stream], draw) & (np.arange(rows) >= HISTORY + QUIET)
            for kind in kinds:
                changed = changed_stream(calm[:rows], kind, hit, STREAMS[stream])
                series = errors_of(changed, method)
                for name, make in makes.items():
                    late = [at for at in alarms_of(make(), series) if at >= QUIET]
                    until = HISTORY + late[0] if late else rows
                    after.setdefault((kind, name), []).append(float(hit[:until].sum()))
                    missed[kind, name] = missed.get((kind, name), 0) + (not late)
    data = ", ".join(streams)
    for name, counts in false.items():
        title = f"peers, quiet, {method}, {name}: false alarms"
        remark = f"mean {np.mean(counts):.1f}"
        record(Measurement(title, "per 10,000 jobs", counts, data=data, remark=remark))
    for (kind, name), counts in after.items():
        within = 100 * float(np.mean(np.array(counts) <= ENOUGH))
        remark = f"within {ENOUGH}: {within:.0f} %, missed {missed[kind, name]}"
        title = f"peers, a fifth of the jobs, {kind}, {method}, {name}: noticed after"
        record(Measurement(title, "affected jobs", counts, data=data, remark=remark))


def alarms_of(detector: Any, series: np.ndarray) -> list[int]:
    """Return after how many jobs a detector of river gave an alarm."""
    found = []
    for place, value in enumerate(series.tolist()):
        detector.update(value)
        if detector.drift_detected:
            found.append(place)
    return found


def real(method: str) -> None:
    """Watch real traces in their own order, mending and looking on."""
    for name in REAL:
        jobs = in_order(name, 0, 0)[-3 * HISTORY :]
        split = min(HISTORY, len(jobs) // 2)
        errors, alarms = [], 0
        for act in (True, False):
            watcher = Watcher(method=method, act=act).fit(jobs[:split])
            steps = [one for one in watcher.update(jobs[split:]) if one.kind == "alarm"]
            errors.append(watcher.records_.quality(split)["error"])
            if act:
                alarms = len(steps)
                told = [f"{one.jobs} {one.reason.split(':')[0]}" for one in steps]
                print(f"  {name}: {told}", flush=True)
        said = f"median log error {errors[0]:.3f}, looking on {errors[1]:.3f}"
        rate = 1e4 * alarms / (len(jobs) - split)
        title = f"real {name}, {method}: alarms"
        record(Measurement(title, "per 10,000 jobs", [rate], data=name, remark=said))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", default="quiet,changes,real")
    options.add_argument("--streams", default=",".join(STREAMS))
    options.add_argument("--kinds", default=",".join(KINDS))
    options.add_argument("--method", default="shrinkage")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--jobs", type=int, default=10_000)
    chosen = options.parse_args()
    streams = chosen.streams.split(",")
    parts = {
        "quiet": lambda: quiet(streams, chosen.method, chosen.seeds, chosen.jobs),
        "changes": lambda: changes(streams, chosen.kinds.split(","), chosen.method, chosen.seeds),
        "real": lambda: real(chosen.method),
        "peers": lambda: peers(streams, chosen.method, chosen.seeds, chosen.jobs),
    }
    for part in chosen.part.split(","):
        parts[part]()


if __name__ == "__main__":
    main()
