"""Was the predicted saving what came? Advice made at points of the past, held against the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.signatures import Floats
from prophase.sizing.advising.advice import Gate, advise
from prophase.study.proof.given import GivenAdvice
from prophase.study.proof.hours import (
    Subject,
    climbing,
    predicted_saving,
    reserved,
    with_advice,
)
from prophase.study.proof.intervals import Estimate, kill_share, share_saved

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

    @property
    def error_points(self) -> float:
        """Promised minus kept, in points of percent."""
        return self.predicted_pct - self.held_out_pct


@dataclass(frozen=True)
class SplitsFound:
    """All cuts, and what following the advice from cut to cut would have brought."""

    splits: list[SplitResult]
    #: of the jobs after each cut until the next, those with an advice
    saving: Estimate | None
    oom: Estimate | None
    near_points: float = NEAR_POINTS

    @property
    def near(self) -> int:
        """Splits whose prediction came within the limit."""
        return sum(abs(one.error_points) <= self.near_points for one in self.splits)

    @property
    def kept(self) -> int:
        """Splits that saved what was promised, or at most the limit less."""
        return sum(one.error_points <= self.near_points for one in self.splits)

    @property
    def told(self) -> int:
        """Splits in which the advice reached any later job."""
        return sum(one.reached_jobs > 0 for one in self.splits)

    def sentence(self) -> str:
        """Say how well predictions were kept."""
        if not self.told:
            return (
                f"No advice made at {len(self.splits)} points of the past reached a later job: no "
                "task came back, so nothing tells whether a predicted saving would be kept."
            )
        worst = max(self.splits, key=lambda one: abs(one.error_points))
        return (
            f"At {self.near} of {len(self.splits)} points of the past the predicted saving came "
            f"within {self.near_points:g} points of what later jobs saved (advice reached later "
            f"jobs at {self.told}), at {self.kept} it was not more than that below; worst: "
            f"{worst.predicted_pct:.1f} % predicted, {worst.held_out_pct:.1f} % kept."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {
            "near_points": self.near_points,
            "near": self.near,
            "kept": self.kept,
            "told": self.told,
            "held_out_saving": self.saving.to_dict() if self.saving else None,
            "held_out_oom": self.oom.to_dict() if self.oom else None,
            "splits": [{**asdict(one), "error_points": one.error_points} for one in self.splits],
        }


def forward_splits(
    subject: Subject,
    *,
    risk: float = 0.01,
    gate: Gate | None = None,
    splits: int = 10,
    fails_after: float = 1.0,
    seed: int = 0,
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
    """
    if splits < 1:
        raise ParameterError(f"splits is {splits}, but at least one is needed; ten are usual.")
    workload = subject.today
    submit, end = workload.submit_s, _ends(workload.jobs, workload.submit_s, workload.duration_s)
    follows = subject.tasks != ""
    cuts = _cuts(submit[follows], splits)
    now = reserved(workload, subject.resource, None)
    found: list[SplitResult] = []
    forward: list[tuple[Floats, Floats, Floats, Floats]] = []
    for number, cut in enumerate(cuts):
        past = (end <= cut) & follows
        advice = _advice_of(workload.jobs[past], subject.resource, risk, gate)
        show(100 * (number + 1) / len(cuts))
        later = submit >= cut
        if advice is None:
            found.append(_nothing(number, cut, past, later))
            continue
        changed = set(advice.changed)
        reached = later & np.isin(subject.tasks, list(changed))
        then = reserved(
            with_advice(subject, advice),
            subject.resource,
            climbing(fails_after) if subject.resource == "memory" else None,
        )
        whole = float(now.amount_h[later].sum())
        promised = predicted_saving(subject, advice, now)
        found.append(
            SplitResult(
                number + 1, float(cut), int(past.sum()), int(later.sum()), int(reached.sum()),
                len(changed),
                100 * float(promised[later].sum()) / whole if whole else 0.0,
                100 * (1 - float(then.amount_h[later].sum()) / whole) if whole else 0.0,
                100 * float((then.kills[reached] > 0).mean()) if reached.any() else 0.0,
            )
        )  # fmt: skip
        until = cuts[number + 1] if number + 1 < len(cuts) else np.inf
        here = reached & (submit < until)
        forward.append(
            (submit[here], now.amount_h[here], then.amount_h[here], then.kills[here] > 0)
        )
    joined = [np.concatenate(part) for part in zip(*forward, strict=True)] if forward else []
    if not joined or not len(joined[0]):
        return SplitsFound(found, None, None)
    when, before, after, killed = joined
    return SplitsFound(
        found, share_saved(when, before, after, seed=seed), kill_share(killed.astype(bool))
    )


def _advice_of(
    past: pd.DataFrame, resource: str, risk: float, gate: Gate | None
) -> GivenAdvice | None:
    if not len(past):
        return None
    try:
        return GivenAdvice.made(advise(past, risk=risk, gate=gate, resource=resource))
    except InputError:
        return None


def _nothing(number: int, cut: float, past: Any, later: Any) -> SplitResult:
    return SplitResult(
        number + 1, float(cut), int(past.sum()), int(later.sum()), 0, 0, 0.0, 0.0, 0.0
    )


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
