"""The thesis' tables beside ours: the same steps on a synthetic pipeline of the same shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError
from prophase.json_types import JsonObject
from prophase.papers.thesis import published_tables as published
from prophase.papers.thesis.comparison_rows import (
    TOO_FEW,
    Row,
    compared,
    confusion_rows,
    exact,
    ours_alone,
    said,
    scored,
    usage_rows,
)
from prophase.papers.thesis.conclusions import conclusion_rows
from prophase.papers.thesis.contradictions import bins_words, contradictions
from prophase.papers.thesis.seed_spread import improvements
from prophase.sizing.assess.assessment import Assessment, assess
from prophase.sizing.bins.bin_predictor import known_runs
from prophase.sizing.bins.binning import Binning, search_binning
from prophase.sizing.bins.experiments import (
    Experiment,
    best_of,
    on_unseen_scenarios,
    run_experiments,
)
from prophase.trace.describe.column_arrays import numbers

#: settings tried per model
TRIALS = 12
#: a search needs runs on each side of a split in every bin
_FEWEST = 5
_STRIDE_GB = 10.0
_TOLERANCE_POINTS = 1.0

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ThesisReproduction:
    """Rows of the comparison, and the models, tables and assessment behind them."""

    rows: list[Row]
    experiments: list[Experiment]
    unseen: list[Experiment]
    assessment: Assessment

    def table(self) -> pd.DataFrame:
        """Return one row per model: parameters and measures, to compare them by."""
        return pd.DataFrame([one.row() for one in (*self.experiments, *self.unseen)])

    def history(self) -> pd.DataFrame:
        """Return every setting that was ever tried, model by model."""
        parts = []
        for one in self.experiments:
            tried = one.predictor.tuned_.history
            names = {"task": one.task, "binning": str(one.binning), "classifier": one.classifier}
            parts.append(tried.assign(**names, sampling=one.sampling))
        return pd.concat(parts, ignore_index=True)


def reproduce(
    jobs: pd.DataFrame,
    *,
    trials: int = TRIALS,
    random_state: int = 0,
    progress: Progress = lambda done, total: None,
) -> ThesisReproduction:
    """Run every step of the thesis and put each table beside ours.

    Parameters
    ----------
    jobs : DataFrame
        The job table of a synthetic pipeline (:func:`prophase.trace.synth.pipeline.make_pipeline`).
    trials : int, default=12
        Settings tried for each of the 36 models.
    """
    runs = {task: _runs_of(jobs, name) for task, name in published.STAND_INS.items()}
    # two classifiers x three samplings per binning; three models on unseen scenarios per task
    total = 6 * len(published.TABLE_6) + 3 * len(published.TASKS)
    done = 0

    def counting(step: str) -> None:
        nonlocal done
        done += 1
        progress(done, total)

    assessed = assess(jobs, random_state=random_state)
    found: dict[str, list[Experiment]] = {}
    unseen: dict[str, list[Experiment]] = {}
    for task, of_task in runs.items():
        bins = [edges for name, edges in published.TABLE_6 if name == task]
        options: JsonObject = {
            "trials": trials,
            "random_state": random_state,
            "progress": counting,
        }
        found[task] = [
            one for edges in bins for one in _tried(run_experiments, of_task, [edges], **options)
        ]
        unseen[task] = [
            one
            for name, tuned in (("svm", False), ("svm", True), ("cautious", True))
            for one in _tried(
                on_unseen_scenarios,
                of_task,
                bins[1],
                classifier=name,
                tuned_on_unseen=tuned,
                **options,
            )
        ]
    rows = [
        *_data(jobs, assessed),
        *usage_rows(jobs, assessed.tasks),
        *_table_6(runs),
        *_tables_7_to_10(found),
        *confusion_rows(found),
        *conclusion_rows(found),
        *_table_11(found),
        *_on_unseen(unseen),
        *_tables_12_and_13(assessed, found),
        *contradictions(),
    ]
    return ThesisReproduction(
        rows,
        [one for many in found.values() for one in many],
        [one for many in unseen.values() for one in many],
        assessed,
    )


def _tried(
    make: Callable[..., Experiment | list[Experiment]], *given: object, **options: object
) -> list[Experiment]:
    """Return the models of a binning; none where its runs cannot be split, as with some seeds."""
    try:
        found = make(*given, **options)
    except InputError:
        return []
    return found if isinstance(found, list) else [found]


def _runs_of(jobs: pd.DataFrame, name: str) -> pd.DataFrame:
    mine = jobs[jobs["task"] == name] if "task" in jobs else jobs.iloc[:0]
    if mine.empty:
        raise InputError(
            f"the trace has no task {name!r}. The thesis is reproduced on the pipeline of: "
            "prophase synth pipeline"
        )
    return known_runs(mine)[0]


def _data(jobs: pd.DataFrame, assessed: Assessment) -> list[Row]:
    shape = {
        "rows": (published.ROWS, len(jobs)),
        "runs": (published.RUNS, jobs["parent_id"].nunique()),
        "tasks": (published.TASK_COUNT, jobs["task"].nunique()),
        "scenarios": (published.SCENARIOS, jobs["group"].nunique()),
        "regions": (published.REGIONS, jobs["attr_region"].nunique()),
        "runs of each heavy task": (
            published.HEAVY_RUNS,
            int((jobs["task"] == published.STAND_INS["heavy task 1"]).sum()),
        ),
    }
    rows = [
        compared("Table 3", f"number of {what}", [theirs], [ours], tolerance=0, digits=0)
        for what, (theirs, ours) in shape.items()
    ]
    first = jobs.drop_duplicates("task").groupby("attr_allocation_group")
    for name, group in published.TABLE_4.items():
        held = first.get_group(name)
        rows.append(
            compared(
                f"Table 4, {name}",
                "tasks, cores, GB",
                group,
                [
                    len(held),
                    float(held["request_cpu_cores"].iloc[0]),
                    float(held["request_memory_gib"].iloc[0]),
                ],
                tolerance=0,
                digits=0,
            )
        )
    whole = assessed.utilisation[assessed.utilisation["task"] == "all tasks"]
    used = dict(zip(whole["resource"], whole["utilisation_pct"], strict=True))
    rows.append(
        said(
            "Table 5",
            "utilisation of CPU, memory (%)",
            "a picture: both low, memory extremely",
            f"{used['cpu']:.1f}, {used['memory']:.1f}",
            used["memory"] < 10 < used["cpu"] < 50,
        )
    )
    counts = assessed.tasks["cluster"].value_counts()
    rows.append(
        compared(
            "Figure 13",
            "light, moderate, heavy tasks",
            [published.LIGHT_TASKS, published.MODERATE_TASKS, 2],
            [int(counts.get(name, 0)) for name in ("light", "moderate", "heavy")],
            tolerance=0,
            digits=0,
        )
    )
    return rows


def _table_6(runs: dict[str, pd.DataFrame]) -> list[Row]:
    rows = []
    for (task, edges), theirs in published.TABLE_6.items():
        rows.append(
            compared(
                f"Table 6, {task}, {bins_words(edges)}",
                "optimal, time-based improvement (%)",
                theirs,
                improvements(runs[task], Binning(tuple(map(float, edges)))),
                tolerance=_TOLERANCE_POINTS,
            )
        )
    for task, of_task in runs.items():
        peak, time_s = numbers(of_task, "memory_peak_gib"), numbers(of_task, "duration_s")
        top = next(float(edges[-1]) for name, edges in published.TABLE_6 if name == task)
        smaller = float(np.ceil(peak.max() / _STRIDE_GB) * _STRIDE_GB)
        for word, largest in (("largest kept", max(top, smaller)), ("largest fitted", smaller)):
            try:
                found = search_binning(
                    peak,
                    bins=3,
                    stride_gib=_STRIDE_GB,
                    top_gib=largest,
                    weight=time_s,
                    fewest=_FEWEST,
                )
            except InputError:
                rows.append(ours_alone(f"Table 6, {task}, our search", word, TOO_FEW))
                continue
            improved = improvements(of_task, found, before_gib=top)
            rows.append(
                ours_alone(
                    f"Table 6, {task}, our search",
                    f"{word}: optimal, time-based (%)",
                    f"{found}: {improved[0]:.1f}, {improved[1]:.1f}",
                )
            )
    return rows


def _tables_7_to_10(found: dict[str, list[Experiment]]) -> list[Row]:
    rows = []
    for (task, edges, classifier), (accuracy, u_score) in published.TABLES_7_8.items():
        binning = Binning(tuple(map(float, edges)))
        best = best_of(found[task], binning=binning, classifier=classifier)
        known = [] if best is None else [best.score]
        rows.append(
            scored(
                f"Table {7 if task == published.TASKS[0] else 8}, {task}, {bins_words(edges)}",
                f"{classifier}: accuracy (%), u_score",
                [accuracy],
                [one.accuracy_pct for one in known],
                [u_score] if known else [],
                known,
            )
        )
    for (classifier, task, edges), theirs in published.TABLES_9_10.items():
        binning = Binning(tuple(map(float, edges)))
        mine = [
            one for one in found[task] if one.binning == binning and one.classifier == classifier
        ]
        rows.append(
            scored(
                f"Table {9 if classifier == 'svm' else 10}, {task}, {bins_words(edges)}",
                f"{classifier}: u_score of none, random, SMOTE",
                [],
                [],
                theirs if mine else [],
                [one.score for one in mine],
            )
        )
    return rows


def _table_11(found: dict[str, list[Experiment]]) -> list[Row]:
    rows = []
    recomputed = published.table_11()
    for (task, edges), row in published.TABLE_11.items():
        key = (task, edges)
        rows.append(
            exact(
                f"Table 11, {task}, {bins_words(edges)}",
                "estimated improvement (%), recomputed",
                row.estimated,
                recomputed[key],
            )
        )
        best = best_of(found[task], binning=Binning(tuple(map(float, edges))))
        if best is None:
            item = f"Table 11, {task}, {bins_words(edges)}"
            rows.append(ours_alone(item, "the same by our models", TOO_FEW))
            continue
        rows.append(
            compared(
                f"Table 11, {task}, {bins_words(edges)}",
                f"the same by {best.classifier}, {best.sampling}, u_rate "
                f"{best.score.u_rate_pct:.1f} %",
                [row.estimated],
                [best.estimated_pct],
                tolerance=2 * _TOLERANCE_POINTS,
            )
        )
    return rows


def _on_unseen(unseen: dict[str, list[Experiment]]) -> list[Row]:
    words = ("svm as the thesis tunes it", "svm tuned on unseen ones", "cautious line")
    return [
        ours_alone(
            f"Unseen scenarios, {task}, {how}",
            "accuracy, u_rate, estimated, realised (%)",
            f"{one.score.accuracy_pct:.1f}, {one.score.u_rate_pct:.2f}, {one.estimated_pct:.1f}, "
            f"{one.realised_pct:.1f}",
            published="not looked at",
        )
        for task, many in unseen.items()
        for how, one in zip(words, many, strict=len(many) == len(words))
    ]


def _tables_12_and_13(assessed: Assessment, found: dict[str, list[Experiment]]) -> list[Row]:
    rows = [
        exact(
            f"Table 12, {kind}",
            "improvement (%), recomputed",
            published.TABLE_12[kind].improved,
            value,
            # the printed amounts were rounded: 42 GB may have been 42.1
            tolerance=0.15,
        )
        for kind, value in published.table_12().items()
    ]
    estimates = {
        task: max((one.estimated_pct for one in many if len(one.binning) == 3), default=0.0)
        for task, many in found.items()
    }
    mine = _our_run(assessed, estimates)
    for name, estimate in published.table_13().items():
        step = published.TABLE_13[name]
        unit = "GB" if name == "memory" else "cores"
        what = f"{name} of one run ({unit})"
        rows.append(exact("Table 13", f"{what}, before", step.before, estimate.before, digits=0))
        rows.append(
            exact("Table 13", f"{what}, after", step.after or 0.0, estimate.after, digits=0)
        )
        rows.append(
            exact("Table 13", f"{what}: improved (%)", step.improved, estimate.improved_pct)
        )
        rows.append(
            compared(
                "Table 13",
                f"{what}, our recommendations: before, after, %",
                [step.before, step.after or 0.0, step.improved],
                [mine[name].before, mine[name].after, mine[name].improved_pct],
                tolerance=float("inf"),
                digits=0,
            )
        )
    return rows


def _our_run(assessed: Assessment, estimates: dict[str, float]) -> dict[str, published.RunEstimate]:
    """Return what one run would ask for by our static recommendations and predictors."""
    tasks = assessed.tasks
    by_task = {published.STAND_INS[task]: value for task, value in estimates.items()}
    asked = tasks["advice_gib"].fillna(tasks["request_gib"])
    left = 1 - tasks["task"].map(by_task).fillna(0.0) / 100
    return {
        "memory": published.RunEstimate(
            float(tasks["request_gib"].sum()), float((asked * left).sum())
        ),
        "cpu": published.RunEstimate(
            float(tasks["request_cores"].sum()), float(tasks["advice_cores"].sum())
        ),
    }
