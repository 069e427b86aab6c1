"""Was the predicted saving what came? Advice made at points of the past, held against the rest."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.signatures import Floats
from prophase.sizing.recommender import Gate, recommend
from prophase.stats import Estimate, calendar_blocks, ratio, share
from prophase.study.proof.candidate import Candidate
from prophase.study.proof.reserved_hours import (
    ProofJobs,
    climbing,
    predicted_saving,
    reserved,
    with_candidate,
)
from prophase.workers import run_all

#: a prediction this near to what came is called right
NEAR_POINTS = 5.0
#: share of the jobs, by time, at the first cut and at the last
_FIRST, _LAST = 0.3, 0.9


@dataclass(frozen=True)
class SplitResult:
    """One cut through the history: promised before it, kept or not after it."""

    split: int
    cut_s: float
    learnt_jobs: int
    later_jobs: int
    #: later jobs whose task had an advice by then
    reached_jobs: int
    advised_tasks: int
    #: of all that the later jobs reserve, in percent
    predicted_pct: float
    held_out_pct: float
    #: share of the reached jobs killed at their first request
    oom_pct: float
    #: of what the reached jobs alone reserve, in percent; no other job dilutes an error
    predicted_of_reached_pct: float = 0.0
    held_out_of_reached_pct: float = 0.0

    @property
    def error_points(self) -> float:
        """Promised minus kept, in points of percent."""
        return self.predicted_pct - self.held_out_pct

    @property
    def error_of_reached_points(self) -> float:
        """The same for the reached jobs alone."""
        return self.predicted_of_reached_pct - self.held_out_of_reached_pct


@dataclass(frozen=True)
class SplitsFound:
    """All cuts, and what following the advice from cut to cut would have brought.

    A cut whose advice reaches no later job tells nothing of promises: it is counted in ``told``
    and nowhere else.
    """

    splits: list[SplitResult]
    #: of the jobs after each cut until the next, those with an advice
    saving: Estimate | None
    oom: Estimate | None
    near_points: float = NEAR_POINTS

    @property
    def telling(self) -> list[SplitResult]:
        """Splits in which the advice reached a later job."""
        return [one for one in self.splits if one.reached_jobs > 0]

    @property
    def told(self) -> int:
        """How many splits reached a later job."""
        return len(self.telling)

    @property
    def near(self) -> int:
        """Splits that tell and whose prediction came within the limit."""
        return sum(abs(one.error_points) <= self.near_points for one in self.telling)

    @property
    def kept(self) -> int:
        """Splits that tell and saved what was promised, or at most the limit less."""
        return sum(one.error_points <= self.near_points for one in self.telling)

    @property
    def near_of_reached(self) -> int:
        """Splits that tell and came within the limit for the jobs with an advice alone."""
        return sum(abs(one.error_of_reached_points) <= self.near_points for one in self.telling)

    def sentence(self) -> str:
        """Say how well predictions were kept."""
        if not any(one.advised_tasks for one in self.splits):
            return (
                f"At none of {len(self.splits)} points of the past was there an advice to give: "
                "every task kept its request, so nothing is held out."
            )
        if not self.told:
            return (
                f"No advice made at {len(self.splits)} points of the past reached a later job: no "
                "task came back, so nothing tells whether a predicted saving would be kept."
            )
        silent = len(self.splits) - self.told
        apart = (
            f"; at {silent} more no later job was reached, which tells nothing" if silent else ""
        )
        worst = max(self.telling, key=lambda one: abs(one.error_points))
        return (
            f"At {self.near} of {self.told} points of the past the predicted saving came within "
            f"{self.near_points:g} points of what later jobs saved, and at {self.kept} it was not "
            f"more than that below{apart}. Worst: {worst.predicted_pct:.1f} % predicted, "
            f"{worst.held_out_pct:.1f} % kept. Of the jobs with an advice alone it came as near at "
            f"{self.near_of_reached}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {
            "near_points": self.near_points,
            "near": self.near,
            "near_of_reached": self.near_of_reached,
            "kept": self.kept,
            "told": self.told,
            "held_out_saving": self.saving.to_dict() if self.saving else None,
            "held_out_oom": self.oom.to_dict() if self.oom else None,
            "splits": [{**asdict(one), "error_points": one.error_points} for one in self.splits],
        }


def forward_splits(
    subject: ProofJobs,
    *,
    risk: float = 0.01,
    gate: Gate | None = None,
    splits: int = 10,
    fails_after: float = 1.0,
    workers: int | str = 1,
    show: Callable[[float], None] = lambda percent: None,
) -> SplitsFound:
    """Make advice at points of the past and hold it against the jobs that came later.

    At each cut only jobs that had ended count. The promise is for the later jobs as they came:
    each task's predicted share of what its later jobs reserve.

    Parameters
    ----------
    splits : int, default=10
        Cuts, evenly between 30 % and 90 % of the jobs.
    fails_after : float
        Share of its run after which an attempt that asks for too little is killed.
    workers : int or str, default=1
        Processes, or the address of a Dask scheduler; the numbers are the same with any.
    """
    if splits < 1:
        raise ParameterError(f"splits is {splits}, but at least one is needed; ten are usual.")
    follows = subject.tasks != ""
    cuts = _cuts(subject.today.submit_s[follows], splits)
    shared = _Shared(subject, cuts, risk, gate, fails_after)
    by_number: dict[int, tuple[SplitResult, _Followed | None]] = {}
    with closing(run_all(_cut, shared, range(len(cuts)), workers=workers)) as results:
        for number, one in results:
            by_number[number] = one
            show(100 * len(by_number) / len(cuts))
    found = [by_number[number][0] for number in range(len(cuts))]
    parts = (by_number[number][1] for number in range(len(cuts)))
    followed = [part for part in parts if part is not None]
    if not sum(len(part.when) for part in followed):
        return SplitsFound(found, None, None)
    when, before, after, killed = (
        np.concatenate(part) for part in zip(*map(astuple, followed), strict=True)
    )
    days = calendar_blocks(when)
    saving = ratio(before - after, before, days).within(most=1.0)
    return SplitsFound(found, saving, share(killed > 0, days))


@dataclass(frozen=True)
class _Shared:
    """What every cut needs."""

    subject: ProofJobs
    cuts: Floats
    risk: float
    gate: Gate | None
    fails_after: float


@dataclass(frozen=True)
class _Followed:
    """Jobs from a cut to the next one that had an advice: what they reserve, and their kills."""

    when: Floats
    before: Floats
    after: Floats
    killed: Floats


def _cut(shared: _Shared, number: int) -> tuple[SplitResult, _Followed | None]:
    """Make the advice of one cut and hold it against what came later."""
    subject, cuts = shared.subject, shared.cuts
    workload, cut = subject.today, cuts[number]
    submit, end = workload.submit_s, _ends(workload.jobs, workload.submit_s, workload.duration_s)
    past, later = (end <= cut) & (subject.tasks != ""), submit >= cut
    advice = _advice_of(workload.jobs[past], subject.resource, shared.risk, shared.gate)
    if advice is None:
        nothing = SplitResult(
            number + 1, float(cut), int(past.sum()), int(later.sum()), 0, 0, 0.0, 0.0, 0.0
        )
        return nothing, None
    now = reserved(workload, subject.resource, None)
    ladder = climbing(shared.fails_after) if subject.resource == "memory" else None
    then = reserved(with_candidate(subject, advice), subject.resource, ladder)
    reached = later & np.isin(subject.tasks, list(advice.changed))
    promised = predicted_saving(subject, advice, now)

    def shares(jobs: Any) -> tuple[float, float]:
        whole = float(now.amount_h[jobs].sum())
        if not whole > 0:
            return 0.0, 0.0
        saved = whole - float(then.amount_h[jobs].sum())
        return 100 * float(promised[jobs].sum()) / whole, 100 * saved / whole

    result = SplitResult(
        number + 1, float(cut), int(past.sum()), int(later.sum()), int(reached.sum()),
        len(advice.changed),
        *shares(later),
        100 * float((then.kills[reached] > 0).mean()) if reached.any() else 0.0,
        *shares(reached),
    )  # fmt: skip
    here = reached & (submit < (cuts[number + 1] if number + 1 < len(cuts) else np.inf))
    return result, _Followed(
        submit[here], now.amount_h[here], then.amount_h[here], then.kills[here]
    )


def _advice_of(
    past: pd.DataFrame, resource: str, risk: float, gate: Gate | None
) -> Candidate | None:
    if not len(past):
        return None
    try:
        return Candidate.made(recommend(past, risk=risk, gate=gate, resource=resource))
    except InputError:
        return None


def _cuts(submit: Floats, splits: int) -> Floats:
    cuts: Floats = np.unique(np.quantile(submit, np.linspace(_FIRST, _LAST, splits)))
    return cuts


def _ends(jobs: pd.DataFrame, submit: Floats, duration: Floats) -> Floats:
    """Return when each job's peak was known."""
    ends = submit + duration
    if "start_s" in jobs:
        start = jobs["start_s"].to_numpy(float, na_value=np.nan)
        ends = np.where(np.isnan(start), ends, start + duration)
    if "end_s" in jobs:
        own = jobs["end_s"].to_numpy(float, na_value=np.nan)
        ends = np.where(np.isnan(own), ends, own)
    return ends
