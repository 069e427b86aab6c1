"""One request per task for configuration files, proven on the task's own past.

A configuration knows a task's name, not its input, so there is one ladder of requests per
task; its first rung is exceeded with the chosen risk. It is back-tested: at every point of the
past, the ladder from the runs that had ended is compared with the runs after it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.short_form import ShortForm
from prophase.sizing.backtest import RecommendationBacktest
from prophase.sizing.ladder_from_peaks import growth_to_come, ladder_of, outlook_of
from prophase.sizing.least_waste.ladder import Floats, Outlook
from prophase.sizing.replays.task_runs import TaskRun, TaskRuns, task_runs
from prophase.sizing.resources import Resource
from prophase.stats import months_in

#: a rise of peaks that is worth a word
_A_RISE = 1.05


@dataclass(frozen=True)
class Gate:
    """When a change is recommended; otherwise a task keeps its request.

    Attributes
    ----------
    fewest_runs : int
        Runs a task must have.
    least_saving : float
        Share of what is reserved now that must be saved.
    most_oom : float, optional
        Highest share of kills in the back-test; without it three times the chosen risk.
    """

    fewest_runs: int = 10
    least_saving: float = 0.5
    most_oom: float | None = None


@dataclass(frozen=True)
class Recommendation:
    """What one task should ask for, and the evidence."""

    task: str
    runs: int
    #: usual request of today; NaN if there is none
    now: float
    #: requests of the 1st, 2nd and 3rd attempt
    ladder: tuple[float, ...]
    #: share of kills in the back-test, and where it may truly lie
    oom: float
    oom_low: float
    oom_high: float
    tried: int
    #: share of what is reserved today that the ladder saves
    saving: float
    #: amount x hours; NaN where the history is shorter than a week
    saved_per_month: float
    why: str
    keep: bool
    outlook: Outlook | None = field(repr=False, default=None)
    #: peaks so far, in the order the runs ended
    peaks: tuple[float, ...] = field(repr=False, default=())

    @property
    def request(self) -> float:
        """Return the first request to make from now on."""
        return self.now if self.keep else self.ladder[0]


@dataclass(frozen=True, repr=False)
class ResourceRecommendations(ShortForm):
    """Recommended requests of one resource, for all tasks of a trace."""

    tasks: list[Recommendation]
    risk: float
    unit: str
    resource: str
    left_out: dict[str, int]
    #: run time covered by the trace, in hours
    span_h: float
    #: hash of the jobs they were made from, if known
    data_hash: str = ""

    def of(self, task: str) -> Recommendation | None:
        """Return the recommendation for one task, by its name or the end of it."""
        exact = [one for one in self.tasks if one.task == task]
        ending = [one for one in self.tasks if one.task.endswith(task)]
        found = exact or ending
        return found[0] if len(found) == 1 else None

    @property
    def table(self) -> pd.DataFrame:
        """A row per task: the request of today, the recommended ones, kills, saving, why."""
        return pd.DataFrame(as_rows(self))

    def summary(self) -> list[str]:
        """Say how many tasks should ask for something else, and name those that save most."""
        changed = [one for one in self.tasks if not one.keep]
        said = [
            f"{counted(len(changed), 'task')} of {len(self.tasks):,} should change the "
            f"{self.resource} they ask for (risk {units.percent(self.risk)})"
        ]
        said += [
            f"{one.task}: {units.amount(one.now, self.unit)} to "
            f"{units.amount(one.request, self.unit)}, saves {units.percent(one.saving)}"
            for one in changed[:3]
        ]
        return [*said, f"{len(changed) - 3:,} more: .table"] if len(changed) > 3 else said

    def to_dict(self) -> JsonObject:
        """Return what is sized, at which risk, and a row per task."""
        return {
            "resource": self.resource,
            "unit": self.unit,
            "risk": self.risk,
            "data_hash": self.data_hash,
            "left_out": self.left_out,
            "tasks": finite(as_rows(self)),
        }


def recommend(
    jobs: pd.DataFrame,
    *,
    risk: float = 0.01,
    gate: Gate | None = None,
    resource: str = "memory",
    data_hash: str = "",
    show: Callable[[float], None] = lambda percent: None,
) -> ResourceRecommendations:
    """Return what each task of a trace should ask for.

    Parameters
    ----------
    jobs : DataFrame
        Finished jobs with peaks, run times and requests.
    risk : float
        Share of runs that may be killed at their first request.
    gate : Gate, optional
        When to recommend a change at all.
    resource : str
        What is sized; one of :data:`~prophase.sizing.resources.RESOURCES`.
    data_hash : str
        Hash of the jobs; stays with the result.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {
    ...         "job_id": [f"j{i}" for i in range(40)],
    ...         "task": "align",
    ...         "duration_s": 600.0,
    ...         "memory_peak_gib": 2.0 + 0.1 * (np.arange(40) % 5),
    ...         "request_memory_gib": 16.0,
    ...         "submit_s": 700.0 * np.arange(40),
    ...     }
    ... )
    >>> found = recommend(jobs, risk=0.05).tasks[0]
    >>> found.keep, round(found.request, 1)
    (False, 2.4)
    """
    if not 0 < risk < 1:
        raise ParameterError(f"risk is {risk}, but lies between 0 and 1: write 0.01 or 1%.")
    gate = gate or Gate()
    if not 0 <= gate.least_saving < 1:
        raise ParameterError(
            f"the least saving is {gate.least_saving}, but lies between 0 and 1: write 0.5 or 50%."
        )
    runs = task_runs(jobs, track="strict", resource=resource)
    by_task: defaultdict[str, list[TaskRun]] = defaultdict(list)
    for run in runs.runs:
        by_task[run.task].append(run)
    span_h = _span_h(runs)
    tasks = []
    for place, (task, members) in enumerate(by_task.items()):
        tasks.append(_recommended(task, members, risk, gate, runs.resource))
        show(100 * (place + 1) / len(by_task))
    tasks.sort(key=lambda one: -_order(one))
    months = months_in(3600 * span_h)
    tasks = [
        one if one.keep else replace(one, saved_per_month=one.saved_per_month / months)
        for one in tasks
    ]
    return ResourceRecommendations(
        tasks, risk, runs.resource.unit, resource, runs.left_out, span_h, data_hash
    )


def _order(one: Recommendation) -> float:
    return one.saved_per_month if math.isfinite(one.saved_per_month) else -math.inf


def _recommended(
    task: str, runs: Sequence[TaskRun], risk: float, gate: Gate, what: Resource
) -> Recommendation:
    runs = sorted(runs, key=lambda run: run.end_s)
    peaks = np.array([run.peak for run in runs])
    # each instance of a gang holds what the row asks for
    hours = np.array(
        [run.instances * (max(run.runtime_h, 1e-5) if what.held else 1.0) for run in runs]
    )
    requests = np.array([run.request for run in runs])
    when_s = np.array([run.submit_s for run in runs])
    known = requests[np.isfinite(requests)]
    now = float(np.median(known)) if len(known) else math.nan
    ladder = ladder_of(peaks, risk, now, what)
    trial = RecommendationBacktest(gate.fewest_runs, risk, what)
    if len(runs) >= gate.fewest_runs:
        trial.run(peaks, hours, requests, when_s, now, ladder)
    reserved = float(np.nansum(requests * hours))
    keep, why = _gated(trial, now, peaks, gate, what.unit)
    return Recommendation(
        task, len(runs), now, ladder, trial.oom.value, trial.oom.low, trial.oom.high,
        trial.count, trial.saving,
        0.0 if keep else trial.saving * reserved, why, keep,
        outlook_of(peaks), tuple(peaks.tolist()),
    )  # fmt: skip


def _gated(
    trial: RecommendationBacktest, now: float, peaks: Floats, gate: Gate, unit: str
) -> tuple[bool, str]:
    """Say whether the task keeps its request, and why."""
    most = 3 * trial.risk if gate.most_oom is None else gate.most_oom
    runs, saving, growth = len(peaks), trial.saving, growth_to_come(peaks)
    rising = f"; peaks are rising, {growth - 1:.0%} are added" if growth > _A_RISE else ""
    if runs < gate.fewest_runs:
        return True, f"keep: too few runs ({runs}, {gate.fewest_runs} are needed)"
    if not now > 0:
        highest = f"highest {peaks.max():.3g} {unit}"
        return False, f"no request today; {counted(runs, 'run')}, {highest}{rising}"
    if trial.oom.value > most and trial.kills > 1:
        return True, f"keep: {trial.oom.value:.1%} of the back-tested runs would have been killed"
    if math.isnan(saving):
        return True, f"keep: too few runs to back-test it ({runs})"
    if saving < 0:
        return True, f"keep: the recommended request would reserve more than today{rising}"
    if saving < gate.least_saving:
        asked = f"less than the {gate.least_saving:.0%} asked for"
        return True, f"keep: saves {saving:.0%}, {asked}{rising}"
    return (
        False,
        f"{counted(runs, 'run')} used at most {peaks.max() / now:.0%} of the request{rising}",
    )


def _span_h(runs: TaskRuns) -> float:
    first = min(run.submit_s for run in runs.runs)
    last = max(run.end_s for run in runs.runs)
    return max((last - first) / 3600, 1.0)


def as_rows(found: ResourceRecommendations) -> list[dict[str, object]]:
    """Return a row per task: requests now and recommended, risk, saving, why."""
    return [
        {
            "task": one.task,
            "runs": one.runs,
            "now": one.now,
            "advice": one.request,
            "2nd": one.now if one.keep else one.ladder[1],
            "3rd": one.now if one.keep else one.ladder[2],
            "oom_pct": 100 * one.oom,
            "oom_low_pct": 100 * one.oom_low,
            "oom_high_pct": 100 * one.oom_high,
            "saving_pct": 100 * one.saving,
            "saved_per_month": one.saved_per_month,
            "why": one.why,
        }
        for one in found.tasks
    ]
