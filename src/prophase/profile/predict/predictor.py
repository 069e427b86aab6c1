"""One interface for every method: fit on history, predict jobs, update with finished ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
import pandas as pd

from prophase.array_types import Array, Bools, Floats
from prophase.errors import InputError, ParameterError
from prophase.plural import counted
from prophase.profile.predict.conformal_range import Calibrator
from prophase.profile.predict.history import History, Question
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.point_and_range import PointAndRange, closest_match
from prophase.profile.predict.submit_columns import Columns, arrivals, ends, is_yes_no, outcomes
from prophase.profile.predict.yes_no_target import ShareCalibrator

#: with fewer finished jobs than this no method answers
FEWEST_FINISHED = 10
#: share of the history, by arrival, on which the intervals are calibrated
_CALIBRATED_SHARE = 0.3
_MOST_CALIBRATED = 6_000


class Predictor(ABC):
    """Predict a target of jobs from what is known when they are submitted.

    Subclasses say how to learn (:meth:`_learn`, if anything has to be learned beyond
    remembering) and how to answer (:meth:`_answer`), both in logarithms. Intervals,
    strata, reasons and the online update are the same for all.

    Parameters
    ----------
    random_state : int, default=0
        Seed of everything random.

    Attributes
    ----------
    target_ : str
        The column that is predicted.
    history_ : History
        The finished jobs, by key.
    """

    name: ClassVar[str]

    def __init__(self, *, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, history: pd.DataFrame, target: str = "duration_s") -> Self:
        """Learn from finished jobs; rows without a value of the target are left out."""
        outcome = outcomes(history, target)
        known = np.isfinite(outcome) & (outcome >= 0)
        if not known.any():
            raise InputError(
                f"no row of the history has a value of {target}. Give finished jobs, or another "
                "target."
            )
        jobs, outcome = history[known], outcome[known]
        self.target_ = target
        self.yes_no_ = is_yes_no(history, target)
        self.floor_ = 1.0 if target.endswith("_s") else _smallest(outcome) / 2
        values = self._as_fitted(outcome)
        self.history_ = History(jobs, shares=self.yes_no_)
        arrival, end = arrivals(jobs), ends(jobs)
        if not np.isfinite(arrival).any():
            # without a clock the order of the rows is the only before and after
            arrival = end = np.arange(len(jobs), dtype=np.float64)
        question = self.history_.ask(jobs, np.where(np.isfinite(arrival), arrival, np.inf))
        self.history_.add(question, end, values)
        self._remember(jobs, end, values)
        self.newest_ = np.sort(end)
        timed = np.flatnonzero(np.isfinite(arrival))
        timed = timed[np.argsort(arrival[timed], kind="stable")]
        asked = replace(question.rows(timed, arrival[timed]), arrival=arrival[timed])
        self._calibrate(asked, values[timed], end[timed])
        return self

    def predict(
        self, jobs: pd.DataFrame, as_of: Floats | Literal["submit"] | None = None
    ) -> pd.DataFrame:
        """Return one row per job: value, range, stratum, how often seen, and why.

        Parameters
        ----------
        jobs : DataFrame
            Jobs to be answered for. Columns that are not known at submission are ignored.
        as_of : "submit" or array, optional
            Use only outcomes of jobs that had ended before this moment: of each job's own
            submission, or the given ones. Without it, everything that is known counts.

        Returns
        -------
        DataFrame
            ``value``, ``low`` and ``high`` (90 % range; of a target that is true or false,
            the probability of true and its bounds), ``stratum`` (seen, partly or new),
            ``seen`` (finished jobs of the closest key), ``reason`` and ``abstained``,
            with the index of ``jobs``.
        """
        return pd.DataFrame(self.answers(jobs, as_of), index=jobs.index)

    def answers(
        self, jobs: pd.DataFrame | Columns, as_of: Floats | Literal["submit"] | None = None
    ) -> dict[str, Array]:
        """Return the columns of :meth:`predict` as arrays; quicker for one job or a few."""
        self._need_fit()
        question = self.history_.ask(jobs, self._moments(jobs, as_of))
        recall = self.history_.recall(question)
        answer = self._answer(question, recall)
        match = closest_match(self.history_.levels, recall)
        low, high = self.calibrator_.widen(
            answer, match.stratum, self._is_stale(question), question.as_of
        )
        finished = recall[-1].count
        thin = finished < FEWEST_FINISHED
        silent = thin | ~np.isfinite(answer.point)
        reason = np.where(
            thin,
            f"fewer than {FEWEST_FINISHED} finished jobs are known",
            np.where(silent, self._why_silent(), match.reason),
        )
        shown: dict[str, Array] = {
            key: np.where(silent, np.nan, np.clip(part, 0, 1) if self.yes_no_ else np.exp(part))
            for key, part in (("value", answer.point), ("low", low), ("high", high))
        }
        return {
            **shown,
            "stratum": match.stratum,
            "seen": match.count,
            "reason": reason,
            "abstained": silent,
        }

    def update(self, finished: pd.DataFrame) -> Self:
        """Let finished jobs count from now on, in answers and ranges, without a refit."""
        self._need_fit()
        outcome = outcomes(finished, self.target_)
        known = np.isfinite(outcome) & (outcome >= 0)
        jobs, outcome = finished[known], outcome[known]
        if len(jobs) == 0:
            return self
        values = self._as_fitted(outcome)
        arrival, end = arrivals(jobs), ends(jobs)
        question = self.history_.ask(jobs, arrival)
        timed = bool(np.isfinite(arrival).all() and np.isfinite(end).all())
        if not timed:
            # nothing would hide a row's own outcome, so it is judged before it is known
            self._judge(question, values, end)
        self.history_.add(question, end, values)
        self._remember(jobs, end, values)
        self.newest_ = np.sort(np.concatenate([self.newest_, end]))
        if timed:
            self._judge(question, values, end)
        return self

    def _learn(self, question: Question, values: Floats) -> None:  # noqa: B027
        """Learn from finished jobs beyond remembering them; many methods need not."""

    def _weigh(self, question: Question, values: Floats) -> None:  # noqa: B027
        """Compare what was learned from earlier jobs with the outcomes of later ones."""

    def _remember(self, finished: pd.DataFrame, end: Floats, values: Floats) -> None:  # noqa: B027
        """Take note of finished jobs with all their columns, for methods that learn from use."""

    @abstractmethod
    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        """Return point and range of each job, in logarithms; NaN where there is no answer."""

    def _why_silent(self) -> str:
        return "nothing is known that this method could answer from"

    def _calibrate(self, question: Question, values: Floats, end: Floats) -> None:
        """Learn on the earlier part, judge on the later one, then learn from all of it."""
        rows = len(values)
        self.calibrator_ = ShareCalibrator() if self.yes_no_ else Calibrator()
        self.usual_lag_ = np.inf
        judged = int(rows * _CALIBRATED_SHARE)
        if judged >= FEWEST_FINISHED:
            cut = question.arrival[rows - judged]
            early = np.flatnonzero((question.arrival < cut) & (end < cut))
            late = np.flatnonzero(question.arrival >= cut)
            if len(late) > _MOST_CALIBRATED:
                draw = np.random.default_rng(self.random_state)
                late = np.sort(draw.choice(late, _MOST_CALIBRATED, replace=False))
            if len(early) >= FEWEST_FINISHED and len(late):
                self._learn(question.rows(early), values[early])
                fresh = question.rows(late)
                lag = fresh.arrival - self._newest(fresh.as_of)
                self.usual_lag_ = 2 * float(np.quantile(lag, 0.99))
                frozen = question.rows(late, np.full(len(late), cut))
                twice = np.concatenate([late, late])
                moments = np.concatenate([fresh.as_of, frozen.as_of])
                self._weigh(question.rows(twice, moments), values[twice])
                self._judge(fresh, values[late], end[late], stale=False)
                self._judge(frozen, values[late], end[late], stale=True)
        self._learn(question, values)

    def _judge(
        self, question: Question, values: Floats, end: Floats, stale: bool | None = None
    ) -> None:
        """Compare answers with outcomes and let the ranges know."""
        recall = self.history_.recall(question)
        answer = self._answer(question, recall)
        match = closest_match(self.history_.levels, recall)
        late = self._is_stale(question) if stale is None else np.full(len(values), stale)
        self.calibrator_.learn(answer, values, match.stratum, late, end)

    def _moments(
        self, jobs: pd.DataFrame | Columns, as_of: Floats | Literal["submit"] | None
    ) -> Floats | None:
        if as_of is None:
            return None
        if isinstance(as_of, str):
            return arrivals(jobs)
        moments = np.asarray(as_of, dtype=np.float64)
        if moments.shape != (len(jobs),):
            raise ParameterError(
                f"as_of has shape {moments.shape}, but there are {counted(len(jobs), 'job')}. "
                'Pass one moment per job, or "submit".'
            )
        return moments

    def _newest(self, as_of: Floats) -> Floats:
        """Return the end of the newest outcome that was known at each moment."""
        place = np.searchsorted(self.newest_, as_of, side="left")
        return np.where(place > 0, self.newest_[np.maximum(place - 1, 0)], -np.inf)

    def _is_stale(self, question: Question) -> Bools:
        """Say which jobs came long after the last outcome that may be used."""
        if not np.isfinite(self.usual_lag_):
            return np.zeros(len(question), dtype=np.bool_)
        arrival = np.where(np.isfinite(question.arrival), question.arrival, -np.inf)
        newest = self._newest(question.as_of)
        return arrival > newest + self.usual_lag_

    def _as_fitted(self, outcome: Floats) -> Floats:
        """Return outcomes as methods learn them: logarithms; 0 and 1 of a yes-or-no target."""
        return outcome if self.yes_no_ else np.log(np.maximum(outcome, self.floor_))

    def _need_fit(self) -> None:
        if not hasattr(self, "history_"):
            raise ParameterError(f"{self.name} is not fitted yet. Call fit(history).")


def _smallest(outcome: Floats) -> float:
    positive = outcome[outcome > 0]
    return float(positive.min()) if len(positive) else 1.0
