"""Was the predicted saving right? Recommendations of past cut-off dates, and what came later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonObject
from prophase.sim.signatures import Floats
from prophase.sizing.kind_recommendation import Gate, recommend
from prophase.stats import Estimate, calendar_blocks, share
from prophase.study.proof.candidate import Candidate
from prophase.study.proof.reserved_hours import (
    ProofJobs,
    climbing,
    predicted_saving,
    reserved,
    with_candidate,
)
from prophase.study.proof.saving_interval import saving_with_interval
from prophase.workers import run_all

#: a prediction this near to what came is called right
NEAR_POINTS = 5.0
#: share of the jobs, by time, at the first cut and at the last
_FIRST, _LAST = 0.3, 0.9


@dataclass(frozen=True)
class SplitResult:
    """One cut-off date: the saving predicted at it, and what later jobs saved."""

    split: int
    cut_s: float
    learnt_jobs: int
    later_jobs: int
    #: later jobs whose task had a recommendation by then
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
        """Predicted minus saved, in points of percent."""
        return self.predicted_pct - self.held_out_pct

    @property
    def error_of_reached_points(self) -> float:
        """The same for the reached jobs alone."""
        return self.predicted_of_reached_pct - self.held_out_of_reached_pct


@dataclass(frozen=True)
class SplitsFound:
    """All cut-off dates, and what following the recommendations from date to date would give.

    A date whose recommendation matches no later job shows nothing and is not counted in ``told``.
    """

    splits: list[SplitResult]
    #: of the jobs after each cut until the next, those with a recommendation
    saving: Estimate | None
    oom: Estimate | None
    near_points: float = NEAR_POINTS

    @property
    def matched(self) -> list[SplitResult]:
        """Cut-off dates whose recommendation matches a later job."""
        return [one for one in self.splits if one.reached_jobs > 0]

    @property
    def told(self) -> int:
        """How many cut-off dates match a later job."""
        return len(self.matched)

    @property
    def near(self) -> int:
        """Cut-off dates whose prediction was within the limit."""
        return sum(abs(one.error_points) <= self.near_points for one in self.matched)

    @property
    def kept(self) -> int:
        """Cut-off dates at which later jobs saved what was predicted, or at most the limit less."""
        return sum(one.error_points <= self.near_points for one in self.matched)

    @property
    def near_of_reached(self) -> int:
        """Cut-off dates within the limit if only jobs with a recommendation are counted."""
        return sum(abs(one.error_of_reached_points) <= self.near_points for one in self.matched)

    def sentence(self) -> str:
        """Say how good the predictions of past cut-off dates were."""
        dates = f"{len(self.splits)} cut-off dates"
        if not any(one.advised_tasks for one in self.splits):
            return (
                f"Back-test: at none of {dates} was there a recommendation; every task kept its "
                "request."
            )
        if not self.told:
            return (
                f"Back-test: no recommendation made at {dates} matches a later job (no task ran "
                "again), so predicted savings could not be checked."
            )
        silent = len(self.splits) - self.told
        apart = f" ({silent} more match no later job and are not counted)" if silent else ""
        worst = max(self.matched, key=lambda one: abs(one.error_points))
        return (
            f"Back-test: the predicted saving was within {self.near_points:g} points of what later "
            f"jobs saved at {self.near} of {self.told} cut-off dates{apart}; at {self.kept} they "
            f"saved what was predicted, or at most {self.near_points:g} points less. Worst: "
            f"{worst.predicted_pct:.1f} % predicted, {worst.held_out_pct:.1f} % saved. Counting "
            f"only jobs with a recommendation: within {self.near_points:g} points at "
            f"{self.near_of_reached}."
        )

    def to_dict(self) -> JsonObject:
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
    """Make recommendations at past cut-off dates and compare them with later jobs.

    At each date only jobs that had ended are used. The prediction is for the later jobs as they
    came: each task's predicted share of what its later jobs reserve.

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
    return SplitsFound(found, saving_with_interval(before, after, days), share(killed > 0, days))


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
    """Jobs from one date to the next that had a recommendation: what they reserve, their kills."""

    when: Floats
    before: Floats
    after: Floats
    killed: Floats


def _cut(shared: _Shared, number: int) -> tuple[SplitResult, _Followed | None]:
    """Make the recommendation of one cut-off date and compare it with later jobs."""
    subject, cuts = shared.subject, shared.cuts
    workload, cut = subject.today, cuts[number]
    submit, end = workload.submit_s, _ends(workload.jobs, workload.submit_s, workload.duration_s)
    # killed jobs follow no recommendation, but teach one: they needed more than they had
    past, later = end <= cut, submit >= cut
    advice = _advice_of(workload.jobs[past], subject.resource, shared.risk, shared.gate)
    if advice is None:
        nothing = SplitResult(
            number + 1, float(cut), int(past.sum()), int(later.sum()), 0, 0, 0.0, 0.0, 0.0
        )
        return nothing, None
    now = reserved(workload, subject.resource, None)
    ladder = climbing(subject.resource, shared.fails_after)
    then = reserved(with_candidate(subject, advice), subject.resource, ladder)
    reached = later & np.isin(subject.following(advice), list(advice.changed))
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
