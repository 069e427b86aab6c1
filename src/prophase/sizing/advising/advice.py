"""One request per task for configuration files, proven on the task's own past.

A configuration knows a task's name, not its input, so the advice is one ladder per task: the
first rung is exceeded with the chosen risk. It is tried out on the past first: at every
point, advice from the runs that had ended before is held against the runs after it.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

from prophase.errors import ParameterError
from prophase.plural import counted
from prophase.sizing.least_waste.ladder import Floats, Outlook
from prophase.sizing.least_waste.settings import Settings
from prophase.sizing.least_waste.views import tailed
from prophase.sizing.replaying.tasks import TaskRun, TaskRuns, task_runs

_HOURS_PER_MONTH = 365.25 * 24 / 12
#: advice is made anew whenever the history has grown by this factor
_GROWTH = 1.25
#: peaks as they were and a chance of 1 in (runs + 1) of more: shares of runs then come out right
_AS_SEEN = Settings(tail=1.0, smoothed_from=sys.maxsize)
#: how sure the interval of the realised risk is
_COVERED = 0.9
_RUNGS = 3
#: runs of a task that count, the latest ones
_REMEMBERED = 400
#: a ladder below the smallest unit people configure makes no sense
_FLOOR = {"GiB": 1 / 64, "cores": 0.05, "GPUs": 0.05, "h": 1 / 60}


@dataclass(frozen=True)
class Gate:
    """When advice is given; otherwise a task keeps its request.

    Attributes
    ----------
    fewest_runs : int
        Runs a task must have.
    least_saving : float
        Share of what is reserved now that must be saved.
    most_oom : float, optional
        Highest share of kills in the trial; without it three times the chosen risk.
    """

    fewest_runs: int = 10
    least_saving: float = 0.5
    most_oom: float | None = None


@dataclass(frozen=True)
class TaskAdvice:
    """What one task should ask for, and the evidence."""

    task: str
    runs: int
    #: usual request of today; NaN if there is none
    now: float
    #: requests of the 1st, 2nd and 3rd attempt
    ladder: tuple[float, ...]
    #: share of kills in the trial, and where it may truly lie
    oom: float
    oom_low: float
    oom_high: float
    tried: int
    #: share of what is reserved today that the advice saves
    saving: float
    saved_per_month: float
    why: str
    keep: bool
    outlook: Outlook | None = field(repr=False, default=None)
    #: peaks so far, in the order the runs ended
    peaks: tuple[float, ...] = field(repr=False, default=())

    @property
    def advice(self) -> float:
        """Return the first request to make from now on."""
        return self.now if self.keep else self.ladder[0]


@dataclass(frozen=True)
class Advice:
    """The advice for all tasks of a trace."""

    tasks: list[TaskAdvice]
    risk: float
    unit: str
    resource: str
    left_out: dict[str, int]
    #: run time covered by the trace, in hours
    span_h: float

    def of(self, task: str) -> TaskAdvice | None:
        """Return the advice for one task, by its name or the end of it."""
        exact = [one for one in self.tasks if one.task == task]
        ending = [one for one in self.tasks if one.task.endswith(task)]
        found = exact or ending
        return found[0] if len(found) == 1 else None


def advise(
    jobs: pd.DataFrame,
    *,
    risk: float = 0.01,
    gate: Gate | None = None,
    resource: str = "memory",
    show: Callable[[float], None] = lambda percent: None,
) -> Advice:
    """Return what each task of a trace should ask for.

    Parameters
    ----------
    jobs : DataFrame
        Finished jobs with peaks, run times and requests.
    risk : float
        Share of runs that may be killed at their first request.
    gate : Gate, optional
        When to advise at all.
    resource : str
        What is sized; one of :data:`~prophase.sizing.resources.RESOURCES`.

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
    >>> found = advise(jobs, risk=0.05).tasks[0]
    >>> found.keep, round(found.advice, 1)
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
        tasks.append(_advise_one(task, members, risk, gate, runs.resource.unit, span_h))
        show(100 * (place + 1) / len(by_task))
    tasks.sort(key=lambda one: -_order(one))
    return Advice(tasks, risk, runs.resource.unit, resource, runs.left_out, span_h)


def _order(one: TaskAdvice) -> float:
    return one.saved_per_month if math.isfinite(one.saved_per_month) else -math.inf


def _advise_one(
    task: str, runs: Sequence[TaskRun], risk: float, gate: Gate, unit: str, span_h: float
) -> TaskAdvice:
    runs = sorted(runs, key=lambda run: run.end_s)
    peaks = np.array([run.peak for run in runs])
    hours = np.array([max(run.runtime_h, 1e-5) for run in runs])
    requests = np.array([run.request for run in runs])
    known = requests[np.isfinite(requests)]
    now = float(np.median(known)) if len(known) else math.nan
    floor = _FLOOR.get(unit, 0.0)
    outlook = _outlook(peaks)
    ladder = _ladder(outlook, risk, now, floor)
    trial = _Trial(gate.fewest_runs, risk, floor)
    trial.run(peaks, hours, requests, now)
    saving = 1.0 - trial.asked / trial.reserved if trial.reserved > 0 else math.nan
    reserved = float(np.nansum(requests * hours))
    keep, why = _gated(trial, saving, now, len(runs), peaks, risk, gate, unit)
    low, high = _interval(trial.kills, trial.count)
    return TaskAdvice(
        task, len(runs), now, ladder, trial.share, low, high, trial.count, saving,
        0.0 if keep else saving * reserved / span_h * _HOURS_PER_MONTH, why, keep, outlook,
        tuple(peaks.tolist()),
    )  # fmt: skip


def _gated(
    trial: _Trial,
    saving: float,
    now: float,
    runs: int,
    peaks: Floats,
    risk: float,
    gate: Gate,
    unit: str,
) -> tuple[bool, str]:
    """Say whether the task keeps its request, and why."""
    most = 3 * risk if gate.most_oom is None else gate.most_oom
    if runs < gate.fewest_runs:
        return True, f"keep: too few runs ({runs}, {gate.fewest_runs} are needed)"
    if not now > 0:
        return False, f"no request today; {counted(runs, 'run')}, highest {peaks.max():.3g} {unit}"
    if trial.share > most and trial.kills > 1:
        return True, f"keep: {trial.share:.1%} of the trial's runs would have been killed"
    if saving < 0:
        return True, "keep: the advice would reserve more than today"
    if saving < gate.least_saving:
        return True, f"keep: saves {saving:.0%}, less than the {gate.least_saving:.0%} asked for"
    return False, f"{counted(runs, 'run')} used at most {peaks.max() / now:.0%} of the request"


class _Trial:
    """Advice at every point of the past, held against the runs that came after it."""

    def __init__(self, fewest: int, risk: float, floor: float) -> None:
        self.fewest, self.risk, self.floor = max(fewest, 3), risk, floor
        self.count = self.kills = 0
        self.asked = self.reserved = 0.0

    @property
    def share(self) -> float:
        return self.kills / self.count if self.count else math.nan

    def run(self, peaks: Floats, hours: Floats, requests: Floats, now: float) -> None:
        """Walk forward through the past."""
        known = self.fewest
        while known < len(peaks):
            upto = min(len(peaks), max(known + 1, int(known * _GROWTH)))
            rungs = _ladder(_outlook(peaks[:known]), self.risk, now, self.floor)
            for place in range(known, upto):
                self._climb(rungs, peaks[place], hours[place])
                if requests[place] > 0:
                    self.reserved += requests[place] * hours[place]
            known = upto

    def _climb(self, rungs: tuple[float, ...], peak: float, hours: float) -> None:
        self.count += 1
        self.kills += rungs[0] < peak
        for rung in rungs:
            self.asked += rung * hours
            if rung >= peak:
                return
        self.asked += 2 * max(rungs[-1], peak) * hours


def _outlook(peaks: Floats) -> Outlook:
    """Return what the next peak may be, when nothing is known of the instance."""
    recent = peaks[-_REMEMBERED:]
    # every run counts alike: a risk is a share of runs, not of hours
    values, weights = tailed(recent, np.ones(len(recent)), len(recent), _AS_SEEN)
    return Outlook(values, weights)


def _ladder(outlook: Outlook, risk: float, now: float, floor: float) -> tuple[float, ...]:
    """Return the rungs: one exceeded with the risk, the best second one, and the request."""
    first = max(outlook.quantile(1.0 - risk), floor)
    second = max(first * 1.3, outlook.quantile(1.0 - risk / 10))
    third = max(second * 1.5, now if now > 0 else 0.0)
    return tuple(float(rung) for rung in (first, second, third)[:_RUNGS])


def _interval(kills: int, count: int) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share."""
    if not count:
        return math.nan, math.nan
    rest = (1 - _COVERED) / 2
    low = float(beta.ppf(rest, kills, count - kills + 1)) if kills else 0.0
    high = float(beta.ppf(1 - rest, kills + 1, count - kills)) if kills < count else 1.0
    return low, high


def _span_h(runs: TaskRuns) -> float:
    first = min(run.submit_s for run in runs.runs)
    last = max(run.end_s for run in runs.runs)
    return max((last - first) / 3600, 1.0)


def as_rows(advice: Advice) -> list[dict[str, Any]]:
    """Return the advice as rows: task, now, advice, risk, saving, why."""
    return [
        {
            "task": one.task,
            "runs": one.runs,
            "now": one.now,
            "advice": one.advice,
            "2nd": one.now if one.keep else one.ladder[1],
            "3rd": one.now if one.keep else one.ladder[2],
            "oom_pct": 100 * one.oom,
            "oom_low_pct": 100 * one.oom_low,
            "oom_high_pct": 100 * one.oom_high,
            "saving_pct": 100 * one.saving,
            "saved_per_month": one.saved_per_month,
            "why": one.why,
        }
        for one in advice.tasks
    ]
