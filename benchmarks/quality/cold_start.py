"""How fast do sizers learn a new task, and a task whose code has changed?

Cold start: real workflows (`data/nextflow`), online; what is asked for at the n-th run of a task.
Code change: the synthetic pipeline, one heavy task of which needs 1.6 times the memory from July
on; told apart are sizers that are told of the new version of the code and those that are not.

    python benchmarks/quality/cold_start.py [--figures DIR]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.plots.learning_curves import learning_figure
from prophase.plots.style import save
from prophase.sizing import OnlineSizer, make_online_sizer
from prophase.sizing.replays.learning_curve import curve_since, learning_curve
from prophase.sizing.replays.replay import SizedRun, replay
from prophase.sizing.replays.task_runs import TaskRuns, task_runs
from prophase.trace.synth.pipeline import make_pipeline
from prophase.trace.trace_tables import open_trace
from quality.thesis import told_runs
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
TRACES = ("trace_chipseq.csv.gz", "trace_eager.csv", "trace_rnaseq.csv")
SIZERS: dict[str, Callable[[], OnlineSizer]] = {
    "default": lambda: make_online_sizer(),
    "default, risk 1 %": lambda: make_online_sizer(risk=0.01),
    "thesis bins": lambda: make_online_sizer("thesis"),
    "maximum + 10 %": lambda: make_online_sizer("maximum"),
}
CHANGED, CHANGE_S = "predict_demand", pd.Timestamp("2020-07-01").timestamp()
#: last run of each step after the change
AFTER = (3, 10, 30, 100, 300, 700)


def cold_start(figures: Path | None) -> None:
    runs = {name: task_runs(open_trace(DATA / "nextflow" / name).jobs) for name in TRACES}
    curves = {}
    for name, make in SIZERS.items():
        decisions: list[SizedRun] = []
        for trace, of_trace in runs.items():
            for one in replay(of_trace, make()).decisions:
                # tasks of different workflows are different tasks
                named = replace(one.run, task=f"{trace} {one.run.task}")
                decisions.append(replace(one, run=named))
        curves[name] = curve = learning_curve(decisions, steps=(1, 2, 3, 5, 10, 20, 40, 80, 140))
        for row in curve.to_dict("records"):
            if row["last_run"] in (1, 3, 10, 40, 140):
                _recorded(
                    f"cold start, {name}, runs {_span(row)}", row, "nextflow, three workflows"
                )
    if figures is not None:
        drawn = learning_figure(curves, title="A new task: real workflows")
        save(drawn, figures, "cold-start", formats=("png",))


def code_change(figures: Path | None) -> None:
    unchanged, unannounced = (_pipeline(task) for task in ("", CHANGED))
    announced = TaskRuns(
        [
            replace(run, features={**run.features, "version": f"v{run.submit_s >= CHANGE_S:d}"})
            for run in unannounced.runs
        ],
        unannounced.left_out,
        unannounced.resource,
    )
    tried = {name: (make, unannounced) for name, make in SIZERS.items()}
    tried["default, told of it"] = (SIZERS["default"], announced)
    curves = {}
    for name, (make, runs) in tried.items():
        curves[name], control = (
            curve_since(replay(one, make()).decisions, CHANGED, CHANGE_S, steps=AFTER)
            for one in (runs, unchanged)
        )
        pairs = zip(curves[name].to_dict("records"), control.to_dict("records"), strict=True)
        for row, same in pairs:
            if row["last_run"] in (0, 10, 100, 700):
                _recorded(
                    f"code change, {name}, runs {_span(row)}", row, "pipeline, seed 112", same
                )
    if figures is not None:
        drawn = learning_figure(
            curves, title="A task that needs 1.6 times as much from July on", changed=True
        )
        save(drawn, figures, "code-change", formats=("png",))


def _pipeline(changed: str) -> TaskRuns:
    jobs = make_pipeline(random_state=112, logic_change_task=changed).jobs
    return told_runs(jobs[jobs["task"] == CHANGED].reset_index(drop=True))


def _span(row: dict[str, float]) -> str:
    return f"{row['first_run']:g} to {row['last_run']:g}"


def _recorded(
    name: str, row: dict[str, float], data: str, same: dict[str, float] | None = None
) -> None:
    record(
        Measurement(
            name,
            "x the waste of requests",
            [round(row["waste_of_request"], 4)],
            baseline="the same without the change" if same else "",
            baseline_values=[round(same["waste_of_request"], 4)] if same else [],
            data=data,
            remark=f"{row['decisions']:g} runs, first request {row['asked_over_peak']:.2f} x the "
            f"peak, {row['killed_pct']:.1f} % killed"
            + (f" (without the change {same['killed_pct']:.1f} %)" if same else ""),
        )
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--figures", type=Path)
    arguments = parser.parse_args()
    cold_start(arguments.figures)
    code_change(arguments.figures)
