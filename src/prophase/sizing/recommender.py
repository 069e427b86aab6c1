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
from numpy.typing import NDArray

from prophase import units
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.plural import counted
from prophase.short_form import ShortForm
from prophase.sizing.backtest import RecommendationBacktest
from prophase.sizing.ladder_from_peaks import REMEMBERED, growth_to_come, ladder_of, outlook_of
from prophase.sizing.least_waste.ladder import Floats, Outlook
from prophase.sizing.replays.task_runs import TaskRun, TaskRuns, task_runs
from prophase.sizing.resources import Resource
from prophase.stats import Estimate, months_in, wilson_ends

#: how the reason of a request begins that is above today's
_ASK_FOR_MORE = "ask for more"
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
        Share of what is reserved now that must be saved. A saving must also outweigh the
        kills that the back-test does not rule out.
    most_oom : float, optional
        Highest share of kills in the back-test; without it three times the chosen risk, or the
        share that is killed today if that is higher, and no more than the risk for sure.
    """

    fewest_runs: int = 10
    least_saving: float = 0.0
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
    #: share of back-tested runs that were killed at their first request
    oom: Estimate
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

    @property
    def asks_for_more(self) -> bool:
        """Say whether kills raise the request of today."""
        return self.why.startswith(_ASK_FOR_MORE)


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
            f"{units.amount(one.request, self.unit)}, {_effect(one)}"
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


def _effect(one: Recommendation) -> str:
    if one.asks_for_more:
        return one.why
    return f"saves {units.percent(one.saving)}"


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
    runs = task_runs(jobs, track="strict", resource=resource, cut_off=True)
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
    cut_off = np.array([run.cut_off for run in runs])
    # what a killed run needed is not known, only that it was more
    peaks = np.array([run.peak * (_MORE_THAN_THE_LIMIT if run.cut_off else 1.0) for run in runs])
    # each instance of a gang holds what the row asks for; a time limit is not held
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
    keep, why = _gated(trial, _Past(runs, peaks, requests, cut_off, now, what.unit), ladder, gate)
    return Recommendation(
        task, len(runs), now, ladder, trial.oom,
        trial.count, trial.saving,
        0.0 if keep else trial.saving * reserved, why, keep,
        outlook_of(peaks), tuple(peaks.tolist()),
    )  # fmt: skip


@dataclass(frozen=True)
class _Past:
    """The runs of one task, in the order they ended."""

    runs: Sequence[TaskRun]
    peaks: Floats
    requests: Floats
    cut_off: NDArray[np.bool_]
    #: usual request of today
    now: float
    unit: str

    @property
    def killed(self) -> float:
        """Share of the runs that were killed at their request."""
        return float(self.cut_off.mean())


def _gated(
    trial: RecommendationBacktest, past: _Past, ladder: Sequence[float], gate: Gate
) -> tuple[bool, str]:
    """Say whether the task keeps its request, and why."""
    peaks, now, runs = past.peaks, past.now, len(past.peaks)
    growth = growth_to_come(peaks)
    rising = f"; peaks are rising, {growth - 1:.0%} are added" if growth > _A_RISE else ""
    if runs < gate.fewest_runs:
        return True, f"keep: too few runs ({runs}, {gate.fewest_runs} are needed)"
    if not now > 0:
        highest = f"highest {peaks.max():.3g} {past.unit}"
        return False, f"no request today; {counted(runs, 'run')}, {highest}{rising}"
    if ladder[0] > now and past.cut_off.sum() > 1 and past.killed > trial.risk:
        return _after_kills(past, ladder, rising)
    refused = _refused(trial, past, ladder, gate)
    if refused:
        return True, f"keep: {refused}{rising}"
    return (
        False,
        f"{counted(runs, 'run')} used at most {peaks.max() / now:.0%} of the request{rising}",
    )


def _after_kills(past: _Past, ladder: Sequence[float], rising: str) -> tuple[bool, str]:
    """Ask for more if that costs less than the kills; one loses its request and needs another."""
    share, killed = units.percent(past.killed), int(past.cut_off.sum())
    said = f"{killed:,} of {counted(len(past.peaks), 'run')} ({share}) were killed at the request"
    if _COST_OF_A_KILL * past.killed >= ladder[0] / past.now - 1:
        return False, f"{_ASK_FOR_MORE}: {said}{rising}"
    again = f"after a kill {ladder[0]:.3g} {past.unit} are likely to do"
    return True, f"keep: {said}, but more for all would cost more than that; {again}"


def _refused(
    trial: RecommendationBacktest, past: _Past, ladder: Sequence[float], gate: Gate
) -> str:
    """Say what speaks against the ladder; nothing if nothing does."""
    saving, now, runs = trial.saving, past.now, len(past.peaks)
    above = int((past.peaks > past.requests).sum())
    if ladder[0] > now and above:
        return f"{above:,} of {counted(runs, 'run')} used more than they asked for"
    slope = power_of_request(past.runs)
    if slope == slope:
        return (
            f"peaks follow the request (as its power {slope:.2g}), as those of a heap or cache "
            f"do; whether less would do is not known. A run at {0.5 * now:.3g} {past.unit} would "
            "tell"
        )
    least, highest = _ends(trial)
    most = max(_CLOSE * trial.risk, past.killed) if gate.most_oom is None else gate.most_oom
    surely = max(trial.risk, past.killed) if gate.most_oom is None else gate.most_oom
    if trial.kills > 1 and (trial.oom.value > most or least > surely):
        return f"{trial.oom.value:.1%} of the back-tested runs would have been killed"
    if math.isnan(saving):
        return f"too few runs to back-test it ({runs})"
    if saving < 0:
        return "the recommended request would reserve more than today"
    if saving < gate.least_saving:
        return f"saves {saving:.0%}, less than the {gate.least_saving:.0%} asked for"
    if saving <= highest * ladder[0] / now:
        return (
            f"saves {saving:.0%}, which is not sure: {trial.kills:,} of "
            f"{counted(trial.count, 'back-tested run')} killed may mean {highest:.1%}"
        )
    return ""


def _ends(trial: RecommendationBacktest) -> tuple[float, float]:
    """Return where the share of kills may truly lie; of independent runs if days do not show it."""
    if trial.oom.known:
        return trial.oom.low, trial.oom.high
    if not trial.count:
        return 0.0, 1.0
    low, high = wilson_ends(np.array([trial.oom.value]), trial.count, 1.645)
    return float(low[0]), float(high[0])


#: the share of kills in a back-test is close to the risk up to this many times of it
_CLOSE = 3.0
#: what a kill costs, in requests: the one that is lost and, at least, another
_COST_OF_A_KILL = 2.0
#: what a run killed at its limit is taken to need: the middle (of logarithms) between the limit
#: and twice as much
_MORE_THAN_THE_LIMIT = 2.0**0.5
#: peaks follow the request if they rise with it about as fast, and little else moves them
_LEAST_SLOPE, _MOST_SLOPE, _LEAST_FIT = 0.7, 1.3, 0.8
#: two requests must differ by this factor, and so many runs must have made each of them
_APART, _EACH = 1.5, 4


def power_of_request(runs: Sequence[TaskRun]) -> float:
    """Return how peaks rise with the request, as a power of it; NaN if they do not follow it.

    A Java heap, a sort buffer or a cache takes what it is given: its peaks do not tell how little
    would do. Tasks whose input explains their peaks as well do not count.

    Parameters
    ----------
    runs : sequence of TaskRun
        Of one task; the latest ones count.
    """
    known = [run for run in runs[-REMEMBERED:] if run.request > 0 and not run.cut_off]
    asked, used = np.log([run.request for run in known]), np.log([run.peak for run in known])
    levels, counts = np.unique(np.round(asked, 2), return_counts=True)
    common = levels[counts >= _EACH]
    if len(common) < 2 or common[-1] - common[0] < math.log(_APART):
        return math.nan
    slope, fit = float(np.polyfit(asked, used, 1)[0]), _fit(asked, used)
    inputs = np.array([float(run.features.get("input_gib", math.nan)) for run in known])
    if np.isfinite(inputs).all() and _fit(np.log(np.maximum(inputs, 1e-9)), used) >= fit:
        return math.nan
    return slope if fit >= _LEAST_FIT and _LEAST_SLOPE <= slope <= _MOST_SLOPE else math.nan


def _fit(left: Floats, right: Floats) -> float:
    """Return the share of the spread of one that the other explains."""
    spread = float(left.std() * right.std())
    together = float(((left - left.mean()) * (right - right.mean())).mean())
    return (together / spread) ** 2 if spread > 0 else 0.0


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
            "oom_pct": 100 * one.oom.value,
            "oom_low_pct": 100 * one.oom.low,
            "oom_high_pct": 100 * one.oom.high,
            "saving_pct": 100 * one.saving,
            "saved_per_month": one.saved_per_month,
            "why": one.why,
        }
        for one in found.tasks
    ]
