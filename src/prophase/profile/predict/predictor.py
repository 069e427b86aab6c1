"""One interface for every method: fit on history, predict jobs, update with finished ones."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from prophase.array_types import Array, Bools, Floats, Ints
from prophase.errors import InputError, ParameterError
from prophase.plural import counted
from prophase.profile.predict.censored import lengthened, still_running, was_cut_short
from prophase.profile.predict.conformal_range import Calibrator
from prophase.profile.predict.history import History, Question
from prophase.profile.predict.leaf_forest import FEW
from prophase.profile.predict.memory import Recall
from prophase.profile.predict.point_and_range import Match, PointAndRange, closest_match
from prophase.profile.predict.range_levels import LevelCalibrator, at_levels
from prophase.profile.predict.recorded_bounds import RecordedBounds
from prophase.profile.predict.submit_columns import (
    OUTCOME_CLOCKS,
    Columns,
    arrivals,
    ends,
    is_yes_no,
    limits,
    numbers,
    outcomes,
)
from prophase.profile.predict.yes_no_target import ShareCalibrator
from prophase.trace.schema import AFTERWARDS_PREFIX, known_at_submit

#: with fewer finished jobs than this no method answers
FEWEST_FINISHED = 10
#: share of the history, by arrival, on which the intervals are calibrated
_CALIBRATED_SHARE = 0.3
_MOST_CALIBRATED = 6_000
#: jobs that are looked up at once; bounds the memory
_BATCH = 20_000
#: a run that is recorded as shorter, in seconds, counts as this
_SHORTEST_RUN_S = 1e-3


#: levels of :meth:`Predictor.quantiles`
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
_TAIL = 0.05


def expected(quantiles: Floats, levels: Sequence[float] = LEVELS) -> Floats:
    """Return the mean of outcomes whose quantiles these are, the tails taken as they end.

    Examples
    --------
    >>> float(expected(np.array([[1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0]]))[0])
    2.0
    """
    ends = np.column_stack([quantiles[:, :1], quantiles, quantiles[:, -1:]])
    return np.asarray(np.trapezoid(ends, np.array([0.0, *levels, 1.0]), axis=1))


@dataclass(frozen=True)
class _Told:
    """Answers in logarithms as they were made and calibrated, which are silent, and why."""

    answer: PointAndRange
    calibrated: PointAndRange
    match: Match
    silent: Bools
    reason: Array
    #: the answer that each job gets: many jobs ask the same
    of_job: Ints


#: levels -> quantiles of each job, and equally likely outcomes
Distribution = Callable[[Sequence[float]], tuple[Floats, Floats]]


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
    #: what an update changes in place
    _moved_by_updates: ClassVar[tuple[str, ...]] = ("calibrator_",)
    #: names and command lines are read as words
    _reads_text: ClassVar[bool] = False
    #: what reads texts beside their words
    encoder: str | None = None
    #: jobs are learnt from with all their columns, not by keys and numbers alone
    _reads_tables: ClassVar[bool] = False

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
        # a long history would be held twice: what is not needed is left out of the copy
        jobs = history[self._needed_columns(history)]
        if not known.all():
            jobs, outcome = jobs[known], outcome[known]
        self.target_ = target
        self.yes_no_ = is_yes_no(history, target)
        runs = target == "duration_s"
        self.bounds_ = RecordedBounds.of(outcome, limits(jobs)) if runs else RecordedBounds()
        self.floor_ = _smallest(outcome) / 2
        if target.endswith("_s"):
            # a wait of nothing is recorded; a run shorter than a second only by a finer clock
            self.floor_ = min(max(self.floor_, _SHORTEST_RUN_S), 1.0) if runs else 1.0
        values = self._as_fitted(outcome)
        self.history_ = History(
            jobs, shares=self.yes_no_, text=self._reads_text and not self.yes_no_,
            encoder=self.encoder,
        )  # fmt: skip
        arrival, end = arrivals(jobs), ends(jobs)
        if not np.isfinite(arrival).any():
            # without a clock the order of the rows is the only before and after
            arrival = end = np.arange(len(jobs), dtype=np.float64)
        question = self.history_.ask(jobs, np.where(np.isfinite(arrival), arrival, np.inf))
        self.history_.add(question, end, values)
        needed = self._lengthen(history, jobs, question, end, values) if runs else values
        self._remember(jobs, end, needed)
        self.newest_ = np.unique(end)
        timed = np.flatnonzero(np.isfinite(arrival))
        timed = timed[np.argsort(arrival[timed], kind="stable")]
        came, values, end = arrival[timed], values[timed], end[timed]
        if not self._reads_tables:
            # a slice would keep the table
            question = replace(question, _jobs=jobs.take([]))
        if len(timed) < len(question):
            question = question.rows(timed)
        else:
            question.put_in_order(timed)
        del jobs, outcome, known, arrival, timed
        # what texts were held in while they were hashed
        pa.default_memory_pool().release_unused()
        self._calibrate(replace(question, arrival=came, as_of=came), values, end)
        return self

    def _needed_columns(self, history: pd.DataFrame) -> list[str]:
        """Return the columns that are learnt from, with the clocks."""
        names = [str(name) for name in history if not str(name).startswith(AFTERWARDS_PREFIX)]
        if self._reads_tables:
            return names
        needed = {*known_at_submit(names), *OUTCOME_CLOCKS, "status"}
        return [name for name in names if name in needed]

    def predict(
        self,
        jobs: pd.DataFrame,
        as_of: Floats | Literal["submit"] | None = None,
        *,
        ordered: bool = False,
    ) -> pd.DataFrame:
        """Return one row per job: value, range, stratum, how often seen, and why.

        Parameters
        ----------
        jobs : DataFrame
            Jobs to be answered for. Columns that are not known at submission are ignored.
        as_of : "submit" or array, optional
            Use only outcomes of jobs that had ended before this moment: of each job's own
            submission, or the given ones. Without it, everything that is known counts.
        ordered : bool, default=False
            Add ``order_by``, the number that a scheduler ranks jobs by.

        Returns
        -------
        DataFrame
            ``value``, ``low`` and ``high`` (90 % range; of a target that is true or false,
            the probability of true and its bounds), ``stratum`` (seen, partly or new),
            ``seen`` (finished jobs of the closest key), ``reason`` and ``abstained``,
            with the index of ``jobs``.
        """
        return pd.DataFrame(self.answers(jobs, as_of, ordered=ordered), index=jobs.index)

    def answers(
        self, jobs: pd.DataFrame | Columns, as_of: Floats | Literal["submit"] | None = None,
        *, ordered: bool = False,
    ) -> dict[str, Array]:  # fmt: skip
        """Return the columns of :meth:`predict` as arrays; quicker for one job or a few."""
        told = self._tell(jobs, as_of)
        shown = self._shown(told)
        return {**shown, "order_by": self._order_by(told)} if ordered else shown

    def answers_and_distribution(
        self, jobs: pd.DataFrame | Columns
    ) -> tuple[dict[str, Array], Distribution]:
        """Return answers, and what returns quantiles of each job at the levels it is given.

        With the quantiles come equally likely outcomes, if the method has them.
        """
        told = self._tell(jobs, None)

        def distribution(levels: Sequence[float]) -> tuple[Floats, Floats]:
            steps = told.answer.steps
            outcomes = np.empty((len(jobs), 0)) if steps is None else np.exp(steps)[told.of_job]
            return self._quantiles(told, levels), outcomes

        return self._shown(told), distribution

    def _shown(self, told: _Told) -> dict[str, Array]:
        point, low, high = told.calibrated.ends()
        silent = told.silent
        if self.yes_no_:
            parts = tuple(np.clip(part, 0, 1) for part in (point, low, high))
        else:
            parts = self.bounds_.recorded(np.exp(point), np.exp(low), np.exp(high))
        shown: dict[str, Array] = {
            key: np.where(silent, np.nan, part)
            for key, part in zip(("value", "low", "high"), parts, strict=True)
        }
        shown |= {
            "stratum": told.match.stratum,
            "seen": told.match.count,
            "reason": told.reason,
            "abstained": silent,
        }
        return {key: part[told.of_job] for key, part in shown.items()}

    def quantiles(
        self,
        jobs: pd.DataFrame | Columns,
        levels: Sequence[float] = LEVELS,
        as_of: Floats | Literal["submit"] | None = None,
    ) -> Floats:
        """Return what shares of outcomes like each job's stay below, a column per level.

        The answer to a job is a distribution; which number of it to plan with depends on the
        purpose: the middle for a person, an upper quantile for a time limit or a reservation,
        the mean (:func:`expected`) for a scheduler. The ends of the 90 % range are the levels
        0.05 and 0.95; levels beyond them are answered with these ends.
        """
        return self._quantiles(self._tell(jobs, as_of), levels)

    def _order_by(self, told: _Told) -> Floats:
        """Return the square of the mean root of what may happen to each job.

        The point is what will most likely nearly happen, and hides that a job may run for days;
        the mean sees little else. Of run times, the power mean between them keeps most of the gain
        of knowing them all (``prophase schedule-study``). A method without a distribution ranks by
        its point.
        """
        steps = told.answer.steps
        if steps is None:
            return np.asarray(self._shown(told)["value"], dtype=np.float64)
        roots = np.exp(0.5 * steps).mean(axis=1)
        return np.where(told.silent, np.nan, roots**2)[told.of_job]

    def _quantiles(self, told: _Told, levels: Sequence[float]) -> Floats:
        inner = np.clip(np.asarray(levels, dtype=np.float64), _TAIL, 1 - _TAIL)
        _, lowest, highest = told.calibrated.ends()
        steps = told.answer.distribution()
        low, middle, high = at_levels(steps, np.array([_TAIL, 0.5, 1 - _TAIL])).T[:, :, None]
        end, own_end = (
            np.where(inner < 0.5, *sides)
            for sides in ((lowest[:, None], highest[:, None]), (low, high))
        )
        # each side is stretched as much as its end was
        wide = np.abs(own_end - middle) > 1e-9
        reach = np.where(wide, own_end - middle, 1.0)
        share = np.where(
            wide,
            (at_levels(steps, inner) - middle) / reach,
            np.abs(inner - 0.5) / (0.5 - _TAIL),
        )
        with np.errstate(invalid="ignore"):
            moved = middle + share * (end - middle)
        # no share of an endless side is the middle itself
        found = np.where(share == 0, middle, moved)
        found = np.clip(np.sort(found, axis=1), lowest[:, None], highest[:, None])
        found = np.clip(found, 0, 1) if self.yes_no_ else np.exp(found)
        return np.where(told.silent[:, None], np.nan, found)[told.of_job]

    def _tell(
        self, jobs: pd.DataFrame | Columns, as_of: Floats | Literal["submit"] | None
    ) -> _Told:  # fmt: skip
        self._need_fit()
        question = self.history_.ask(jobs, moments(jobs, as_of))
        of_job = np.arange(len(question))
        if len(question) > FEW and not self._reads_tables:
            first, of_job = question.different()
            question = question.rows(first)
        recall = self.history_.recall(question)
        answer = self._answer(question, recall)
        match = closest_match(self.history_.levels, self.history_.counting(question, recall))
        late = self._is_stale(question)
        low, high = self._ranges(answer, match.stratum, recall, late, question.as_of)
        longest = self.bounds_.longest(question.limit_s)
        bounded = (np.minimum(end, longest) for end in (answer.point, low, high))
        thin = recall[-1].count < FEWEST_FINISHED
        silent = thin | ~np.isfinite(answer.point)
        reason = np.where(
            thin,
            f"fewer than {FEWEST_FINISHED} finished jobs are known",
            np.where(silent, self._why_silent(), self._why(question, recall, match)),
        )
        return _Told(answer, PointAndRange(*bounded), match, silent, reason, of_job)

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
        needed = values
        cut_short = was_cut_short(jobs) if self.target_ == "duration_s" else None
        if cut_short is not None and cut_short.any():
            needed = self._needed(question, values, cut_short)
        self.history_.add(question, end, needed)
        self._remember(jobs, end, needed)
        self.newest_ = np.union1d(self.newest_, end)
        if timed:
            self._judge(question, values, end)
        return self

    def own_copy(self) -> Self:
        """Return a predictor that can learn alone; what an update does not touch is shared."""
        mine = copy.copy(self)
        mine.history_ = copy.copy(self.history_)
        # a memory never changes its rows, it replaces them
        mine.history_.memories = tuple(map(copy.copy, self.history_.memories))
        mine.history_.words = self.history_.words.own_copy()
        for name in self._moved_by_updates:
            if hasattr(self, name):
                setattr(mine, name, copy.deepcopy(getattr(self, name)))
        return mine

    def _lengthen(
        self, history: pd.DataFrame, jobs: pd.DataFrame, question: Question, end: Floats,
        values: Floats,
    ) -> Floats:  # fmt: skip
        """Remember jobs that were cut short or still run as what they need, not as what is seen.

        Returns
        -------
        array
            What the jobs that ended need.
        """
        cut_short, running = was_cut_short(jobs), still_running(history)
        if len(running):
            running = running.drop(index=running.index.intersection(jobs.index))
        if not cut_short.any() and not len(running):
            return values
        longer = self._needed(question, values, cut_short)
        asked = self.history_.ask(running)
        bound = np.log(np.maximum(numbers(running, "duration_s"), self.floor_))
        needed = self._needed(asked, bound, np.ones(len(running), dtype=np.bool_))
        self.history_.forget()
        self.history_.add(question, end, longer)
        if len(running):
            self.history_.add(asked, ends(running), needed)
            self._remember_running(running, needed)
        return longer

    def _needed(self, question: Question, values: Floats, at_least: Bools) -> Floats:
        """Return the values, those that are known as lower bounds as what like jobs needed."""
        needed = values.copy()
        for rows in np.array_split(np.flatnonzero(at_least), 1 + int(at_least.sum()) // _BATCH):
            asked = question.rows(rows, np.full(len(rows), np.inf))
            recall = self.history_.recall(asked)
            turn = len(self.history_) + rows
            needed[rows] = lengthened(self.history_.levels, recall, values[rows], turn)
        return needed

    def _learn(self, question: Question, values: Floats) -> None:  # noqa: B027
        """Learn from finished jobs beyond remembering them; many methods need not."""

    def _remember(self, finished: pd.DataFrame, end: Floats, values: Floats) -> None:  # noqa: B027
        """Take note of finished jobs with all their columns, for methods that learn from use."""

    def _remember_running(self, running: pd.DataFrame, needed: Floats) -> None:  # noqa: B027
        """Take note of jobs that still run, with what they will need."""

    @abstractmethod
    def _answer(self, question: Question, recall: list[Recall]) -> PointAndRange:
        """Return point and range of each job, in logarithms; NaN where there is no answer."""

    def _why(self, question: Question, recall: list[Recall], match: Match) -> Array:
        """Return per job what its answer is based on."""
        return match.reason

    def _ranges(
        self, answer: PointAndRange, stratum: NDArray[np.str_], recall: list[Recall], late: Bools,
        as_of: Floats,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Return the calibrated ends of the ranges."""
        return self.calibrator_.widen(answer, stratum, late, as_of)

    def _why_silent(self) -> str:
        return "nothing is known that this method could answer from"

    def _calibrate(self, question: Question, values: Floats, end: Floats) -> None:
        """Learn on the earlier part, judge on the later one, then learn from all of it."""
        rows = len(values)
        self.calibrator_: Calibrator | LevelCalibrator | ShareCalibrator
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


def moments(
    jobs: pd.DataFrame | Columns, as_of: Floats | Literal["submit"] | None
) -> Floats | None:
    """Return the moments that ``as_of`` stands for; None for everything that is known."""
    if as_of is None:
        return None
    if isinstance(as_of, str):
        return arrivals(jobs)
    found = np.asarray(as_of, dtype=np.float64)
    if found.shape != (len(jobs),):
        raise ParameterError(
            f"as_of has shape {found.shape}, but there are {counted(len(jobs), 'job')}. "
            'Pass one moment per job, or "submit".'
        )
    return found


def _smallest(outcome: Floats) -> float:
    positive = outcome[outcome > 0]
    return float(positive.min()) if len(positive) else 1.0
