"""The thesis' goals: improvements near Table 6, estimates on its split and on unseen scenarios.

The thesis' data are not public; the synthetic pipeline has its shape. Seed 112 is the one whose
runs come closest to Table 6; other seeds show how much is luck of the data.

    python benchmarks/quality/thesis.py [--trials 12] [--splits 3] [--seeds 112,0,1,2] [--part P]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.papers.thesis import published_tables as published
from prophase.sizing import make_online_sizer
from prophase.sizing.bins.binning import Binning, improvement
from prophase.sizing.bins.experiments import on_unseen_scenarios, run_experiments
from prophase.sizing.replays.replay import replay
from prophase.sizing.replays.task_runs import TaskRuns, task_runs
from prophase.trace.synth.pipeline import make_pipeline
from record import Measurement, record

THREE_BINS = {"heavy task 1": (10.0, 60.0, 350.0), "heavy task 2": (20.0, 70.0, 200.0)}
#: estimated improvement (%): on the thesis' split, and on unseen scenarios
GOALS = {"heavy task 1": (85.7, 80.0), "heavy task 2": (69.7, 65.0)}


def told_runs(jobs: pd.DataFrame) -> TaskRuns:
    """Return runs of the pipeline with what is known of their scenario, for any sizer.

    The size of the input is products x remaining days, the tag names the scenario.
    """
    known = jobs.set_index("job_id")
    held = known.to_dict("index")
    made = task_runs(jobs)
    runs = []
    for run in made.runs:
        of_run = held[run.job_id]
        told = {"input_gib": of_run["attr_products"] * of_run["attr_remaining_days"] / 1000}
        words = ("attr_region", "attr_department", "group")
        told["tag"] = " ".join(str(of_run[name]) for name in words)
        runs.append(replace(run, features={**run.features, **told}))
    return TaskRuns(runs, made.left_out, made.resource)


def table_6(seeds: list[int], jobs_of: dict[int, pd.DataFrame]) -> None:
    for seed in seeds:
        apart: tuple[list[float], list[float]] = ([], [])
        for (task, edges), (optimal, by_time) in published.TABLE_6.items():
            runs = _runs(jobs_of[seed], task)
            binning = Binning(tuple(map(float, edges)))
            peak = runs["memory_peak_gib"].to_numpy(float)
            apart[0].append(abs(improvement(binning, peak) - optimal))
            weight = runs["duration_s"].to_numpy(float)
            apart[1].append(abs(improvement(binning, peak, weight=weight) - by_time))
        record(
            Measurement(
                f"Table 6, largest deviation of optimal improvements, seed {seed}",
                "points",
                [round(max(apart[0]), 3)],
                data=f"pipeline, seed {seed}",
                remark=f"goal 1; time-based: {max(apart[1]):.2f}",
            )
        )


def thesis_split(seed: int, jobs: pd.DataFrame, trials: int, splits: int) -> None:
    for task, edges in THREE_BINS.items():
        found = [
            run_experiments(_runs(jobs, task), [edges], trials=trials, random_state=split)
            for split in range(splits)
        ]
        best = [min(many, key=lambda one: one.score.u_score) for many in found]
        chosen = [min(many, key=lambda one: one.predictor.tuned_.u_score) for many in found]
        for how, ones in (("best on the test", best), ("chosen by validation", chosen)):
            optimal = ones[0].time_optimal_pct
            plain = median(
                one.optimal_pct * one.score.accuracy_pct / 100 - one.score.u_rate_pct
                for one in ones
            )
            record(
                Measurement(
                    f"estimated improvement, {task}, thesis' split, {how}, seed {seed}",
                    "%",
                    [round(one.estimated_pct, 2) for one in ones],
                    baseline="thesis",
                    baseline_values=[GOALS[task][0]],
                    data=f"pipeline, seed {seed}",
                    remark=f"optimal by time {optimal:.1f} %; not by time {plain:.1f} %; u_rate "
                    f"{median(o.score.u_rate_pct for o in ones):.2f} %; "
                    f"realised {median(o.realised_pct for o in ones):.1f} %",
                )
            )


def unseen(seed: int, jobs: pd.DataFrame, trials: int) -> None:
    for task, edges in THREE_BINS.items():
        for classifier, tuned in (("svm", False), ("cautious", True)):
            one = on_unseen_scenarios(
                _runs(jobs, task), edges, classifier=classifier, tuned_on_unseen=tuned,
                trials=trials,
            )  # fmt: skip
            record(
                Measurement(
                    f"estimated improvement, {task}, unseen scenarios, {classifier}, seed {seed}",
                    "%",
                    [round(one.estimated_pct, 2)],
                    baseline="goal",
                    baseline_values=[GOALS[task][1]],
                    data=f"pipeline, seed {seed}",
                    remark=f"optimal by time {one.time_optimal_pct:.1f} %; u_rate "
                    f"{one.score.u_rate_pct:.2f} % (goal 1); accuracy "
                    f"{one.score.accuracy_pct:.1f} %; realised {one.realised_pct:.1f} %",
                )
            )


def bins_in_replay(seed: int, jobs: pd.DataFrame) -> None:
    heavy = jobs[jobs["task"].isin(published.STAND_INS.values())].reset_index(drop=True)
    runs = told_runs(heavy)
    for protocol in ("online", "timeline"):
        request = replay(runs, make_online_sizer("request"), protocol=protocol).summary()
        for name, risk in (
            ("thesis", None),
            ("maximum", None),
            ("default", None),
            ("default", 0.01),
        ):
            made = replay(runs, make_online_sizer(name, risk), protocol=protocol).summary()
            record(
                Measurement(
                    f"replay {protocol}, {name}{f', risk {risk}' if risk else ''}, seed {seed}",
                    "GiB h wasted",
                    [round(made["waste_h"], 1)],
                    baseline="users' requests",
                    baseline_values=[round(request["waste_h"], 1)],
                    data=f"pipeline, heavy tasks, seed {seed}",
                    remark=f"{100 * made['oom_share']:.2f} % of runs killed, at most "
                    f"{made['most_attempts']:g} attempts",
                )
            )


def _runs(jobs: pd.DataFrame, task: str) -> pd.DataFrame:
    return jobs[jobs["task"] == published.STAND_INS[task]].reset_index(drop=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seeds", default="112,0,1,2")
    parser.add_argument("--part", default="table-6,unseen,replay,split")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    jobs_of = {seed: make_pipeline(random_state=seed).jobs for seed in seeds}
    first, parts = seeds[0], arguments.part.split(",")
    if "table-6" in parts:
        table_6(seeds, jobs_of)
    for seed in seeds if "unseen" in parts else ():
        unseen(seed, jobs_of[seed], arguments.trials)
    if "replay" in parts:
        bins_in_replay(first, jobs_of[first])
    if "split" in parts:
        thesis_split(first, jobs_of[first], arguments.trials, arguments.splits)


if __name__ == "__main__":
    main()
