"""The thesis' whole way on a user's own trace: bins, 18 models a task, and what a run would save.

Runs are split by time: models are trained, tuned and chosen on the earlier ones, and the later ones
are replayed through them, through today's requests and through the recommender, with one
accounting for all.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError, not_among
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.sizing.assess.cores import core_requests
from prophase.sizing.assess.task_groups import PREDICT, cluster_tasks
from prophase.sizing.bins.bin_predictor import BinPredictor
from prophase.sizing.bins.binning import Binning, improvement, task_binnings
from prophase.sizing.bins.experiments import Experiment, run_experiments
from prophase.sizing.bins.pipeline_bins import PipelineBins, described
from prophase.sizing.bins.scenario_dependence import ScenarioDependence, scenario_dependence
from prophase.sizing.bins.scores import PENALTY, check_penalty
from prophase.sizing.registry import make_online_sizer
from prophase.sizing.replays.replay import replay
from prophase.sizing.replays.task_runs import TaskRun, TaskRuns, Track, task_runs
from prophase.sizing.sizer import OnlineSizer, Outcome, code_of
from prophase.trace.prices import Prices

#: settings tried per model, and tasks that get 18 models
TRIALS, MOST_TASKS = 5, 2
#: share of the runs, the latest, that everything is judged on
LATER = 0.3
#: of more runs of a task only the latest train it
_MOST_RUNS = 1_500
#: bins that save less than this of what a task asks for, in points, are not worth telling apart
_WORTH = 5.0
#: what stands beside the bins: name of a sizer -> what it is called
_BESIDE = {"request": "today's requests", "krr": "krr", "default": "recommender"}
BINS = "thesis' bins"


@dataclass(frozen=True)
class BinsSettings:
    """How bins are searched, tuned and judged.

    Parameters
    ----------
    tasks : sequence of str
        Tasks to predict; by default those where bins promise most.
    penalty : float
        What an under-estimate weighs against an over-estimate; 1 is plain accuracy.
    trials : int
        Settings tried by each of the 18 models.
    most_tasks : int
        Tasks that get models.
    budget_s : float, optional
        No further task is begun after so many seconds.
    """

    tasks: Sequence[str] = ()
    track: Track = "input"
    penalty: float = PENALTY
    trials: int = TRIALS
    most_tasks: int = MOST_TASKS
    budget_s: float | None = None
    risk: float | None = None
    seed: int = 0


@dataclass(frozen=True)
class BinsStudy:
    """What was trained and how it did; ``model`` answers for new runs."""

    model: PipelineBins
    experiments: list[Experiment]
    #: the model of each task that is used
    chosen: dict[str, Experiment]
    #: a row per task: runs, request, whether it depends on the scenario, what it should ask for
    tasks: list[JsonObject]
    #: memory and cores of one run that covers every task once (Table 13)
    run_estimate: list[JsonObject]
    #: a row per way of sizing the later runs: waste, kills, money
    comparison: list[JsonObject]
    notes: list[str]
    currency: str = ""

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it."""
        return {
            "tasks": self.tasks,
            "models": [one.row() for one in self.experiments],
            "chosen": {
                task: {**one.row(), **one.score.to_dict()} for task, one in self.chosen.items()
            },
            "run_estimate": self.run_estimate,
            "comparison": self.comparison,
            "currency": self.currency,
            "notes": list(self.notes),
        }

    def history(self) -> list[JsonObject]:
        """Return every setting that was tried, model by model."""
        return [
            {"task": one.task, "binning": str(one.binning), "classifier": one.classifier,
             "sampling": one.sampling, **{str(name): value for name, value in row.items()}}
            for one in self.experiments
            for row in one.predictor.tuned_.history.to_dict("records")
        ]  # fmt: skip


def study_bins(
    jobs: pd.DataFrame,
    settings: BinsSettings = BinsSettings(),  # noqa: B008 - frozen
    *,
    prices: Prices | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> BinsStudy:
    """Train bins for the tasks of a trace and compare them with requests and recommender.

    Parameters
    ----------
    jobs : DataFrame
        A job table with memory requests, peaks and run times.
    prices : Prices, optional
        Adds what memory costs.

    Examples
    --------
    >>> rows = np.tile([5.0, 5.0, 5.0, 60.0], 60)
    >>> jobs = pd.DataFrame({"task": "train", "attr_rows": rows, "memory_peak_gib": rows / 2})
    >>> jobs = jobs.assign(request_memory_gib=64.0, duration_s=60.0)
    >>> found = study_bins(jobs, BinsSettings(trials=1))
    >>> found.model.requests(pd.DataFrame({"task": ["train"], "attr_rows": [5.0]}))[0]["by"]
    'bins'
    """
    check_penalty(settings.penalty)
    if settings.most_tasks < 1:
        raise ParameterError(f"most_tasks is {settings.most_tasks}; at least one is needed.")
    runs = task_runs(jobs, track=settings.track)
    cut = round((1 - LATER) * len(runs))
    earlier, later = runs.runs[:cut], runs.runs[cut:]
    if not earlier or not later:
        raise InputError(
            f"{counted(len(runs), 'run')} cannot be split into earlier and later ones."
        )
    by_task: dict[str, list[TaskRun]] = defaultdict(list)
    for run in _current(earlier):
        by_task[run.task].append(run)
    _refuse_unknown(settings.tasks, by_task)
    depends = {task: _dependence(mine) for task, mine in by_task.items()}
    progress("grouping tasks")
    grouped = _grouped(_current(earlier))
    candidates = _candidates(by_task, depends, settings.tasks)
    began, experiments, chosen, notes = time.monotonic(), [], {}, []
    for task, binnings in list(candidates.items())[: settings.most_tasks]:
        if settings.budget_s is not None and time.monotonic() - began > settings.budget_s:
            notes.append(f"{task} and later tasks got no models: the budget was used up.")
            break
        found = _experiments(by_task[task], task, binnings, settings, progress)
        if isinstance(found, str):
            notes.append(found)
            continue
        experiments += found
        # among the best of each binning, the one that is estimated to save most
        chosen[task] = max(found, key=lambda one: (one.estimated_pct, -one.score.u_score))
    if not chosen:
        notes.append("No task has runs that bins could tell apart; all have static requests.")
    if len(candidates) > settings.most_tasks and not settings.tasks:
        left = len(candidates) - settings.most_tasks
        notes.append(
            f"{counted(left, 'further task')} would gain from bins; raise most_tasks to train them."
        )
    static = {
        row["task"]: row["advice_gib"] for row in grouped if row["advice_gib"] == row["advice_gib"]
    }
    progress("replaying the later runs")
    trained = _model(by_task, chosen, static, settings)
    comparison = _compared(earlier, later, runs, trained, settings, prices)
    progress("training on all runs")
    everything: dict[str, list[TaskRun]] = defaultdict(list)
    for run in _current(runs.runs):
        everything[run.task].append(run)
    rows = _task_rows(by_task, depends, grouped, chosen)
    return BinsStudy(
        _model(everything, chosen, static, settings),
        experiments,
        chosen,
        rows,
        _run_estimate(rows, jobs),
        comparison,
        notes,
        prices.currency if prices is not None else "",
    )


def _current(runs: Sequence[TaskRun]) -> list[TaskRun]:
    """Return the runs of the code that each task ran last: another version is another task."""
    latest = {run.task: code for run in runs if (code := code_of(run.features)) is not None}
    return [run for run in runs if code_of(run.features) in (None, latest.get(run.task))]


def _refuse_unknown(wanted: Sequence[str], by_task: dict[str, list[TaskRun]]) -> None:
    for task in wanted:
        if task not in by_task:
            raise ParameterError(
                not_among(f"there is no task {task!r}.", task, sorted(by_task), heading="Tasks")
            )


def _peaks(runs: Sequence[TaskRun]) -> np.ndarray:
    return np.array([run.peak for run in runs])


def _dependence(runs: Sequence[TaskRun]) -> ScenarioDependence:
    return scenario_dependence(described([run.features for run in runs]), _peaks(runs))


def _grouped(runs: Sequence[TaskRun]) -> list[JsonObject]:
    """Return groups and static requests of all tasks, as ``assess`` has them."""
    table = pd.DataFrame(
        {
            "task": [run.task for run in runs],
            "request_memory_gib": [run.request for run in runs],
            "memory_peak_gib": [run.peak for run in runs],
        }
    )
    return [
        {str(name): value for name, value in row.items()}
        for row in cluster_tasks(table).to_dict("records")
    ]


def _candidates(
    by_task: dict[str, list[TaskRun]],
    depends: dict[str, ScenarioDependence],
    wanted: Sequence[str],
) -> dict[str, list[Binning]]:
    """Return the tasks that bins suit, those that could save most first."""
    found: dict[str, tuple[float, list[Binning]]] = {}
    for task, runs in by_task.items():
        if task not in wanted and (wanted or depends[task].depends != "yes"):
            continue
        peak, hours = _peaks(runs), np.array([run.runtime_h for run in runs])
        request = float(np.nanmedian([run.request for run in runs])) if _asks(runs) else peak.max()
        weight = hours if (hours > 0).any() else np.ones(len(hours))
        binnings = task_binnings(peak, weight, request)
        if not binnings:
            continue
        one = Binning((binnings[0].top_gib,))
        gained = max(
            improvement(binning, peak, before_gib=request, weight=weight) for binning in binnings
        ) - improvement(one, peak, before_gib=request, weight=weight)
        if gained >= _WORTH or task in wanted:
            found[task] = (gained / 100 * request * float(weight.sum()), binnings)
    order = sorted(found, key=lambda task: -found[task][0])
    return {task: found[task][1] for task in order}


def _asks(runs: Sequence[TaskRun]) -> bool:
    return any(run.request > 0 for run in runs)


def _frame(runs: Sequence[TaskRun], task: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the latest runs of a task as a table, and the columns that describe them."""
    latest = list(runs)[-_MOST_RUNS:]
    seen = described([run.features for run in latest])
    table = seen.assign(
        task=task,
        memory_peak_gib=_peaks(latest),
        duration_s=[3600 * run.runtime_h for run in latest],
    )
    return table, [name for name in seen.columns if name not in ("memory_peak_gib", "duration_s")]


def _experiments(
    runs: Sequence[TaskRun],
    task: str,
    binnings: Sequence[Binning],
    settings: BinsSettings,
    progress: Callable[[str], None],
) -> list[Experiment] | str:
    """Return the models of a task, or why there are none."""
    table, columns = _frame(runs, task)
    try:
        return run_experiments(
            table,
            [binning.edges_gib for binning in binnings],
            columns=columns,
            penalty=settings.penalty,
            trials=settings.trials,
            random_state=settings.seed,
            progress=lambda step: progress(f"{task}: {step}"),
        )
    except InputError as cause:
        return f"{task}: {cause}"


def _model(
    by_task: dict[str, list[TaskRun]],
    chosen: dict[str, Experiment],
    static: dict[str, float],
    settings: BinsSettings,
) -> PipelineBins:
    """Train the chosen models on runs; peaks above the largest bin raise its edge."""
    predictors = {}
    for task, one in chosen.items():
        table, columns = _frame(by_task[task], task)
        edges = list(one.binning.edges_gib)
        edges[-1] = max(edges[-1], float(table["memory_peak_gib"].max()))
        made = BinPredictor(
            edges,
            classifier=one.classifier,
            sampling=one.sampling,
            trials=settings.trials,
            penalty=settings.penalty,
            random_state=settings.seed,
        )
        predictors[task] = made.fit(table, columns=columns)
    kept = {task: value for task, value in static.items() if task not in predictors}
    known = {task: code_of(runs[-1].features) for task, runs in by_task.items()}
    code = {task: text for task, text in known.items() if text is not None}
    return PipelineBins(predictors, kept, settings.track, settings.seed, code)


def _compared(
    earlier: list[TaskRun],
    later: list[TaskRun],
    runs: TaskRuns,
    trained: PipelineBins,
    settings: BinsSettings,
    prices: Prices | None,
) -> list[JsonObject]:
    """Replay the later runs through every way of sizing, each knowing the earlier ones."""
    sizers: dict[str, OnlineSizer] = {BINS: trained.sizer()}
    for name, words in _BESIDE.items():
        sizer = make_online_sizer(name, settings.risk)
        sizer.learn(
            Outcome(run.task, {**run.features, "post": run.post}, run.peak, run.runtime_h)
            for run in earlier
        )
        sizers[words] = sizer
    rows = []
    for name, sizer in sizers.items():
        done = replay(TaskRuns(later, {}, runs.resource), sizer, node=runs.largest_request)
        found = done.summary()
        used = sum(one.run.peak * one.run.runtime_h for one in done.decisions)
        row: JsonObject = {
            "sized_by": name,
            "runs": int(found["tasks"]),
            "waste_gib_h": found["waste_h"],
            "kills": int(found["failures"]),
            "killed_pct": 100 * found["oom_share"],
            "used_pct": 100 * found["utilisation"],
        }
        if prices is not None:
            row["cost"] = (used + found["waste_h"]) * prices.gib_hour
        rows.append(row)
    today = next(row for row in rows if row["sized_by"] == _BESIDE["request"])
    for row in rows:
        if today["waste_gib_h"] > 0:
            row["relative"] = row["waste_gib_h"] / today["waste_gib_h"]
        if prices is not None:
            row["saved"] = today["cost"] - row["cost"]
    return sorted(rows, key=lambda row: row["waste_gib_h"])


def _task_rows(
    by_task: dict[str, list[TaskRun]],
    depends: dict[str, ScenarioDependence],
    grouped: Sequence[JsonObject],
    chosen: dict[str, Experiment],
) -> list[JsonObject]:
    counts = Counter({task: len(runs) for task, runs in by_task.items()})
    rows = []
    for row in grouped:
        task = row["task"]
        found = depends[task]
        model = chosen.get(task)
        request = row["request_gib"]
        after, by = request, "keeps its request"
        if model is not None:
            base = request if request > 0 else model.binning.top_gib
            # optimal improvements are against the largest bin; a run asks for its request today
            after = model.binning.top_gib * (1 - model.estimated_pct / 100)
            after, by = min(after, base), f"bins {model.binning}"
        elif row["advice_gib"] == row["advice_gib"]:
            after, by = row["advice_gib"], "static"
        elif row["advice"] == PREDICT:
            by = "keeps its request (bins did not fit)"
        rows.append(
            {
                "task": task,
                "group": row["cluster"],
                "runs": counts[task],
                "depends_on_scenario": found.depends,
                "driver": found.driver or None,
                "because": found.because,
                "request_gib": request,
                "max_gib": row["max_gib"],
                "after_gib": after,
                "by": by,
            }
        )
    return rows


def _run_estimate(rows: Sequence[JsonObject], jobs: pd.DataFrame) -> list[JsonObject]:
    """Return what one run that covers every task once asks for, before and after (Table 13)."""
    known = [row for row in rows if row["request_gib"] > 0 and row["after_gib"] == row["after_gib"]]
    found = [
        _estimate("memory_gib", [r["request_gib"] for r in known], [r["after_gib"] for r in known])
    ]
    if "request_cpu_cores" in jobs and (
        jobs.get("cpu_peak_cores", jobs.get("cpu_mean_cores", pd.Series(dtype=float))).notna().any()
    ):
        cores = core_requests(jobs).dropna(subset=["request_cores", "advice_cores"])
        found.append(
            _estimate("cores", cores["request_cores"].tolist(), cores["advice_cores"].tolist())
        )
    return found


def _estimate(resource: str, before: Sequence[float], after: Sequence[float]) -> JsonObject:
    asked, left = float(sum(before)), float(sum(after))
    improved = 100 * (1 - left / asked) if asked > 0 else None
    return {
        "resource": resource, "tasks": len(before), "before": asked, "after": left,
        "improved_pct": improved,
    }  # fmt: skip
