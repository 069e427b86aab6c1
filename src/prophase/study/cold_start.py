"""The first run of a job nobody has run before: what to ask for, and how that narrows later."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonMapping, JsonObject
from prophase.plain import finite
from prophase.profile.predict.job_model import learn
from prophase.sizing.generous_start import GenerousStart
from prophase.sizing.registry import make_online_sizer
from prophase.sizing.replays.replay import Replayed, replay
from prophase.sizing.replays.task_runs import known_before, task_runs
from prophase.sizing.resources import RESOURCES
from prophase.sizing.sizer import Outcome, known_number
from prophase.stats import Estimate, calendar_blocks, share
from prophase.trace.identity.job_identity import full_name, rule_of, with_identity
from prophase.trace.identity.rule import NO_RULE

#: runs of a job that are known, from which each line of the curve begins
AFTER = (0, 1, 3, 10)
_TRIES = 3
#: a first request is right if it holds and is at most this many times what was needed
_CLOSE = 1.5


@dataclass(frozen=True)
class AfterRuns:
    """What sizes look like once a job has run so often, over all jobs of the history."""

    runs_known: int
    decisions: int
    #: first request over what was needed: median, and where 80 % lie
    factor: Estimate
    killed_pct: float
    #: share of first requests that held and were at most 1.5 times what was needed
    confidence: Estimate
    #: reserved but unused, against what users' own requests waste; NaN without requests
    waste_pct: float

    def to_dict(self) -> JsonObject:
        """Return the fields as JSON knows them."""
        shown = {**asdict(self), **self.factor.columns("factor")}
        found: JsonObject = finite({**shown, **self.confidence.columns("confidence")})
        return found


@dataclass(frozen=True)
class FirstRun:
    """Sizes for a job, a range for what it will use, and how sizes narrow as it runs."""

    task: str
    unit: str
    runs_known: int
    #: requests of the 1st, 2nd and 3rd attempt
    ladder: tuple[float, ...]
    #: predicted peak and run time with their 90 % ranges; NaN if nothing can be predicted
    peak: Estimate
    duration_s: Estimate
    why: str
    curve: list[AfterRuns]
    #: by which columns jobs are grouped
    grouped_by: str = ""

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it."""
        low_s, high_s = self.duration_s.ends()
        found: JsonObject = finite(
            asdict(self)
            | self.peak.columns("peak")
            | {"duration_s": self.duration_s.value, "duration_low_s": low_s}
            | {"duration_high_s": high_s, "curve": [one.to_dict() for one in self.curve]}
        )
        return found


def first_run(
    history: pd.DataFrame,
    job: JsonMapping,
    *,
    resource: str = "memory",
    risk: float | None = None,
    by: Sequence[str] = (),
    generous_runs: int = 0,
    after: Sequence[int] = AFTER,
    seed: int = 0,
) -> FirstRun:
    """Return what a job should ask for in its first run.

    Parameters
    ----------
    history : DataFrame
        Finished jobs of others; runs of the job itself are used if there are some.
    job : mapping
        What is known of it, in columns of the job table.
    resource : str
        What is sized.
    risk : float, optional
        Share of runs that may be killed; without it kills are weighed against waste.
    by : sequence of str
        Columns that runs of the same thing share; without them the identity of the history.
    generous_runs : int, default=0
        Runs of a job that have to be known before it gets less than its own request. With 0 the
        sizer decides from the first run on.
    after : sequence of int
        Numbers of known runs from which the lines of the curve begin.

    Examples
    --------
    >>> at = np.arange(60)
    >>> jobs = pd.DataFrame({"job_id": at.astype(str), "task": np.where(at % 2, "a", "b")})
    >>> jobs["submit_s"], jobs["duration_s"], jobs["request_memory_gib"] = 3600.0 * at, 600.0, 8.0
    >>> jobs["memory_peak_gib"] = 2.0 + (at % 5) / 10
    >>> found = first_run(jobs, {"task": "new", "request_memory_gib": 8.0})
    >>> found.runs_known, found.ladder[0] <= 8.0, [one.runs_known for one in found.curve]
    (0, True, [0, 1, 3, 10])
    """
    if not after or min(after) != 0:
        raise ParameterError(
            f"the curve begins with 0 known runs, not with {min(after, default=None)}."
        )
    what = RESOURCES[resource]
    history = with_identity(history, by=by)
    rule = rule_of(history) or NO_RULE
    runs = task_runs(history, track="strict", resource=resource)
    asked = pd.DataFrame([dict(job)])
    if "job_id" not in asked:
        asked["job_id"] = "first"
    task = full_name(rule.key(job))
    _, (features,) = known_before(with_identity(asked, rule), "strict", what)
    sizer = GenerousStart(make_online_sizer("default", risk), generous_runs)
    ended = sorted(runs.runs, key=lambda run: run.end_s)
    sizer.learn(
        Outcome(run.task, {**run.features, "post": run.post}, run.peak, run.runtime_h)
        for run in ended
    )
    ladder = [what.allocatable(sizer.predict(task, features))]
    own = known_number(features, "request_gib")
    if own:
        # nobody asks for more than the user does, before a kill shows that more is needed
        ladder[0] = min(ladder[0], own)
    for attempt in range(2, _TRIES + 1):
        more = sizer.retry(task, features, attempt, ladder[-1])
        ladder.append(what.allocatable(more if more > ladder[-1] else 2 * ladder[-1]))
    seen = sum(run.task == task for run in runs.runs)
    (use, why), (run_time, _) = (
        _predicted(history, asked, name, seed) for name in (what.use_column, "duration_s")
    )
    return FirstRun(
        task, what.unit, seen, tuple(float(rung) for rung in ladder),
        use.scaled(what.use_factor), run_time, why,
        cold_start(
            replay(
                runs, GenerousStart(make_online_sizer("default", risk), generous_runs),
                protocol="timeline",
            ),
            after, least=what.least,
        ),
        str(rule),
    )  # fmt: skip


def cold_start(
    replayed: Replayed, after: Sequence[int] = AFTER, *, least: float = 0.0
) -> list[AfterRuns]:
    """Return how sizes narrow with the runs that are known of a job, over a whole history.

    Runs known of a job are those that had ended when it was decided; each run counts once, in
    the line of the runs that were known. No request is below ``least``, so one that low is close
    enough.
    """
    ends: dict[str, list[float]] = {}
    lines = sorted(set(after))
    held: dict[int, list[tuple[float, bool, bool, float, float, float]]] = {
        start: [] for start in lines
    }
    for one in replayed.decisions:
        before = ends.setdefault(one.run.task, [])
        known = bisect_right(before, one.run.start_s)
        start = max(number for number in lines if number <= known)
        users = (one.run.request - one.run.peak) * one.run.runtime_h
        held[start].append(
            (
                one.asked[0] / one.run.peak,
                len(one.asked) > 1 or one.unfit,
                one.asked[0] <= max(_CLOSE * one.run.peak, least),
                one.waste(),
                users,
                one.run.start_s,
            )
        )
        insort(before, one.run.end_s)
    return [_after(start, rows) for start, rows in held.items() if rows]


def _after(start: int, rows: list[tuple[float, bool, bool, float, float, float]]) -> AfterRuns:
    factors, killed, close, waste, users, begun = map(np.array, zip(*rows, strict=True))
    low, middle, high = np.quantile(factors, [0.1, 0.5, 0.9])
    known = np.isfinite(users)
    whole = float(users[known].sum())
    relative = 100 * float(waste[known].sum()) / whole if whole > 0 else math.nan
    return AfterRuns(
        start, len(rows), Estimate(float(middle), float(low), float(high), level=0.8, n=len(rows)),
        100 * float(killed.mean()), share(~killed & close, calendar_blocks(begun)),
        relative,
    )  # fmt: skip


def _predicted(
    history: pd.DataFrame, asked: pd.DataFrame, target: str, seed: int
) -> tuple[Estimate, str]:
    """Return the prediction of one target, and where it comes from or why there is none."""
    try:
        model = learn(history, [target], random_state=seed)
        row = model.predict(asked).iloc[0]
    except InputError as cause:
        return Estimate(math.nan, reason=str(cause)), str(cause)
    value, low, high = (float(row[name]) for name in ("value", "low", "high"))
    return Estimate(value, low, high, level=0.9), str(row["reason"])
