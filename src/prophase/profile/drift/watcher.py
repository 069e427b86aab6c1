"""Watcher: owns profiles and predictor, watches finished jobs, and mends what broke."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from prophase.array_types import Ints
from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.quality import OUTLIERS
from prophase.profile.drift.finished_jobs import Answered, Clock, Records, in_time_order
from prophase.profile.drift.live_profiles import LiveProfiles
from prophase.profile.drift.monitor import FALSE_ALARMS, FEWEST, OVERALL, Alarm, DriftMonitor
from prophase.profile.drift.monitor_scope import MOST
from prophase.profile.drift.profile_by_key import UsualProfiles
from prophase.profile.drift.repair import RepairPlan, plan_repair, repaired_predictor
from prophase.profile.drift.repair_trial import RepairTrial
from prophase.profile.drift.replacement_profiles import FEWEST as FEWEST_REGROUPED
from prophase.profile.drift.replacement_profiles import reprofile
from prophase.profile.drift.step_log import LOOKS_AGAIN, DriftChange, WatchStep
from prophase.profile.predict.methods import DEFAULT, predictor_named
from prophase.profile.predict.submit_columns import outcomes

#: jobs that are answered, judged and learned from at a time
STRIDE = 25
#: strides between points of the monitor's chart
_CHART_EVERY = 2
#: jobs before a change that show how good predictions were
_RECENT = 1_000
#: jobs expected in a profile since a change, and share of them elsewhere, that make it broken
_ENOUGH, _LEFT = 10, 0.5
#: signals that old outcomes may be the cause of
OF_ERRORS = ("longer", "shorter", "error", "calibration")


@dataclass(eq=False, repr=False)
class Watcher:
    """Keep profiles and predictions right while jobs finish.

    Attributes
    ----------
    predictor_, profiler_, monitor_
        What is kept right, and what watches it.
    records_ : Records
        All jobs seen, and what was known of each.
    steps_ : list of Step
        What was noticed and done since ``fit``.
    watched_ : int
        Jobs watched since ``fit``.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> jobs = pd.DataFrame({"user": draw.choice(list("abcdefghij"), 2000)})
    >>> jobs["task"] = draw.integers(0, 20, 2000).astype(str)
    >>> jobs["submit_s"] = 600.0 * np.arange(2000)
    >>> usual = 60.0 * (1 + jobs["user"].map(ord) - ord("a") + jobs["task"].astype(int))
    >>> jobs["duration_s"] = usual * np.exp(draw.normal(0.0, 0.2, 2000))
    >>> jobs.loc[(jobs.index >= 1300) & jobs["user"].isin(["a", "b"]), "duration_s"] *= 5
    >>> jobs["end_s"] = jobs["submit_s"] + jobs["duration_s"]
    >>> watcher = Watcher(method="shrinkage").fit(jobs[:1200])
    >>> steps = watcher.update(jobs[1200:])
    >>> steps[-1].culprit, steps[-1].repair["action"], steps[-1].repair["factor"] > 4
    ('user a, b', 'rescale', True)
    """

    _: KW_ONLY
    #: the column that is predicted and watched
    target: str = "duration_s"
    #: predictor, by name
    method: str = "default"
    #: false alarms per job to aim at, see :class:`DriftMonitor`
    false_alarms: float = FALSE_ALARMS
    #: mend what broke. If False, changes are noticed and nothing is done
    act: bool = True
    #: seed of everything random
    random_state: int = 0

    def fit(self, history: pd.DataFrame, profiler: WorkloadProfiler | None = None) -> Self:
        """Learn from finished jobs what to predict and what is usual.

        Parameters
        ----------
        profiler : WorkloadProfiler, optional
            Fitted profiles of jobs of the same source. Without it only predictions are watched.
        """
        self.method_ = DEFAULT if self.method == "default" else self.method
        self.refuse_short(history)
        history = in_time_order(history)
        self.profiler_ = profiler
        self.refuse_other_schema(history)
        # what is usual is seen on jobs that were predicted and not trained on
        cut = max(len(history) - MOST, len(history) // 2)
        early, late = history.iloc[:cut], history.iloc[cut:]
        # and by the very predictor that is watched: another one errs in another way
        self.clock_ = Clock(early)
        self.predictor_ = predictor_named(self.method_, random_state=self.random_state)
        self.predictor_.fit(early, self.target)
        answered = self.clock_.answer(self.predictor_, late)
        labels = self._assigned(history)
        self.usual_ = UsualProfiles(history)
        self.usual_.add(early, labels[:cut])
        expected = [np.full(cut, OUTLIERS, dtype=np.int64)]
        for at in range(cut, len(history), 4 * STRIDE):
            rows = slice(at, at + 4 * STRIDE)
            expected.append(self._expect_and_add(history.iloc[rows], labels[rows]))
        suggested = np.concatenate(expected)
        self.records_ = Records(self.target, len(history))
        self.records_.add(
            history, labels, suggested, answered.judged(late, self.predictor_).behind(cut)
        )
        self.monitor_ = DriftMonitor(
            target=self.target, false_alarms=self.false_alarms, random_state=self.random_state
        ).fit(
            late,
            answered.said,
            lagged=answered.lagged,
            **self._of_profiles(labels[cut:], suggested[cut:]),
        )
        self.watched_ = 0
        self.steps_: list[WatchStep] = []
        self.changes_: list[DriftChange] = []
        self.mends_: dict[int, RepairPlan] = {}
        self.trial_: RepairTrial | None = None
        self.chart_: list[JsonObject] = []
        self.next_step_ = 1
        numbers = [one.profile for one in profiler.profiles_] if profiler else []
        self.next_profile_ = 1 + max([OUTLIERS, *numbers])
        return self

    def refuse_short(self, history: pd.DataFrame) -> None:
        """Refuse a history from which one cannot both learn and see what is usual."""
        known = 0 if history.empty else int(np.isfinite(outcomes(history, self.target)).sum())
        if known < 2 * FEWEST:
            raise InputError(
                f"{counted(known, 'finished job')} with a value of {self.target}: too "
                f"few to learn from and to see what is usual. Take a history of {2 * FEWEST}."
            )

    def refuse_other_schema(self, jobs: pd.DataFrame) -> None:
        """Refuse jobs that lack the column that is watched, or one that profiles are made of."""
        outcomes(jobs, self.target)
        lacking = [n for n in (self.profiler_.columns_ if self.profiler_ else ()) if n not in jobs]
        if lacking:
            raise MissingColumnError(
                f"the profiles were learned with {', '.join(lacking)}, which these jobs lack. Give "
                "jobs of the same source, or learn profiles from this one: prophase profile fit"
            )

    def update(
        self,
        finished: pd.DataFrame,
        *,
        before_step: Callable[[int], None] = lambda step: None,
        after_stride: Callable[[list[WatchStep]], None] = lambda steps: None,
    ) -> list[WatchStep]:
        """Watch further finished jobs, in the order in which they ended.

        Parameters
        ----------
        before_step : function, optional
            Called with the number of a step before it touches anything. What it sees is the
            watcher that takes the change as the new usual.
        after_stride : function, optional
            Called with the new steps after every 25 jobs.

        Returns
        -------
        list of Step
            What was noticed and done.
        """
        if not hasattr(self, "monitor_"):
            raise ParameterError("the watcher is not fitted yet. Call fit(history) first.")
        if finished.empty:
            return []
        self.refuse_other_schema(finished)
        finished = in_time_order(finished)
        made = []
        for first in range(0, len(finished), STRIDE):
            steps = self._stride(finished.iloc[first : first + STRIDE], before_step)
            made += steps
            after_stride(steps)
        return made

    def profiles(self) -> WorkloadProfiler | None:
        """Return the profiles with their dynamic part up to the last job."""
        if self.profiler_ is None:
            return None
        profiles = self.profiler_.profiles_
        live = LiveProfiles(dict.fromkeys(name for one in profiles for name in one.dynamic))
        live.update(self.records_.table(), self.records_.labels)
        found = copy.copy(self.profiler_)
        found.profiles_ = live.refreshed(profiles)
        return found

    def table(self) -> list[JsonObject]:
        """Return a row for all jobs and one per profile: how right predictions are, how new jobs.

        Quality is that of the last 1,000 jobs, levels say how near each signal is to an alarm.
        """
        recent = len(self.records_) - _RECENT
        return [
            {**row, **self.records_.quality(recent, profile=None if name == OVERALL else int(name))}
            for row in self.monitor_.table()
            for name in [row["scope"]]
        ]

    def to_state(self) -> JsonObject:
        """Return all that was learned, without the jobs and what follows from them."""
        state = {n: item for n, item in vars(self).items() if n != "usual_"}
        state["records_"] = copy.copy(self.records_)
        state["records_"].parts = []
        return state

    @classmethod
    def from_state(cls, state: JsonObject, jobs: pd.DataFrame) -> Watcher:
        """Return the watcher of a state and of the jobs it had seen, in their order."""
        self = object.__new__(cls)
        vars(self).update({"trial_": None, **state})
        self.records_.parts = [jobs]
        self._recount()
        return self

    def _stride(self, jobs: pd.DataFrame, before_step: Callable[[int], None]) -> list[WatchStep]:
        judge = self.predictor_
        answered = self._answered(jobs)
        labels = self._assigned(jobs)
        expected = self._expect_and_add(jobs, labels)
        alarms = self.monitor_.update(
            jobs, answered.said, lagged=answered.lagged, **self._of_profiles(labels, expected)
        )
        self.records_.add(jobs, labels, expected, answered.judged(jobs, judge))
        self.watched_ += len(jobs)
        if alarms or self.watched_ // STRIDE % _CHART_EVERY == 0:
            self._chart(alarms)
        made: list[WatchStep] = []
        if alarms:
            before_step(self.next_step_)
            made.append(self._noticed(alarms))
            self.steps_.append(made[-1])
        for change in [one for one in self.changes_ if one.due[0] <= self.watched_]:
            change.due = [at for at in change.due if at > self.watched_]
            self.changes_ = [one for one in self.changes_ if one.due]
            before_step(self.next_step_)
            made.append(self._mend("second look", change))
            self.steps_.append(made[-1])
        return made

    def _noticed(self, alarms: list[Alarm]) -> WatchStep:
        since = self.records_.history_jobs + alarms[0].since
        if not self.act:
            return self._step("alarm", DriftChange(self.next_step_, since, [], alarms))
        if self.changes_:
            # the same change, seen by another monitor
            change = self.changes_[-1]
            change.alarms += alarms
            return self._step("alarm", change)
        due = [self.watched_ + jobs for jobs in LOOKS_AGAIN]
        change = DriftChange(self.next_step_, since, due, alarms)
        self.changes_.append(change)
        return self._mend("alarm", change)

    def _mend(self, kind: str, change: DriftChange) -> WatchStep:
        rows = self.records_.table()
        self.mends_.pop(change.step, None)
        settings: Any = {
            "method": self.method_,
            "target": self.target,
            "random_state": self.random_state,
        }
        change.mend = None
        if any(one.signal in OF_ERRORS for one in change.alarms):
            change.mend = plan_repair(
                rows,
                change.since,
                earlier=list(self.mends_.values()),
                usual_error=self.records_.quality(change.since - _RECENT, change.since)["error"],
                **settings,
            )
            self.mends_[change.step] = change.mend
        self._try(rows, settings)
        self.monitor_.rebase()
        retired, new, said = self._regroup(change, rows)
        return self._step(kind, change, retired, new, said)

    def _try(self, rows: pd.DataFrame, settings: JsonObject) -> None:
        """Repair the predictor, if old outcomes are to be touched, and keep the other beside."""
        if all(one.repair.action == "refit" for one in self.mends_.values()):
            return
        unrepaired = self.predictor_
        if self.trial_ is not None and self.trial_.repaired:
            unrepaired = self.trial_.other
        self.predictor_ = repaired_predictor(rows, list(self.mends_.values()), **settings)
        self.trial_ = RepairTrial(unrepaired)

    def _answered(self, jobs: pd.DataFrame) -> Answered:
        """Answer jobs and learn from them; while a repair is on trial, the better one answers."""
        if self.trial_ is None:
            return self.clock_.answer(self.predictor_, jobs)
        answered, self.predictor_ = self.trial_.answer(self.predictor_, self.clock_, jobs)
        if self.trial_.over:
            if not self.trial_.repaired:
                self.mends_ = {}
            self.trial_ = None
        return answered

    def _regroup(
        self, change: DriftChange, rows: pd.DataFrame
    ) -> tuple[tuple[int, ...], tuple[int, ...], str]:
        """Replace the profiles that broke; all others stay as they are."""
        if self.profiler_ is None or change.profiles_done:
            return (), (), ""
        since = change.since
        labels, expected = self.records_.labels[since:], self.records_.expected[since:]
        broken = [
            number
            for number in sorted({one.profile for one in self.profiler_.profiles_})
            if (expected == number).sum() >= _ENOUGH
            and (labels[expected == number] != number).mean() > _LEFT
        ]
        if not broken and all(one.signal != "misfit" for one in change.alarms):
            return (), (), ""
        belonged = np.where(np.isin(expected, broken), expected, OUTLIERS)
        belonged = np.where(np.isin(labels, broken), labels, belonged)
        free = (belonged != OUTLIERS) | (labels == OUTLIERS)
        if free.sum() < FEWEST_REGROUPED and change.due:
            return (), (), "waits for more jobs since the change"
        # a job that found its place in an untouched profile stays there
        free &= (labels == OUTLIERS) | np.isin(labels, broken)
        found = reprofile(
            self.profiler_,
            rows.iloc[since:][free].reset_index(drop=True),
            belonged[free],
            broken,
            first_number=self.next_profile_,
        )
        change.profiles_done = bool(found.new)
        if found.new:
            self.profiler_ = found.profiler
            self.next_profile_ = max(found.new) + 1
            labels = self.records_.labels.copy()
            labels[since:][free] = self._assigned(rows.iloc[since:][free])
            self.records_.labels = labels
            self.monitor_.drop(list(found.retired))
            self._recount()
        return found.retired, found.new, found.note

    def _step(
        self,
        kind: str,
        change: DriftChange,
        retired: tuple[int, ...] = (),
        new: tuple[int, ...] = (),
        profiles: str = "",
    ) -> WatchStep:
        number, self.next_step_ = self.next_step_, self.next_step_ + 1
        since, mend = change.since, change.mend
        alarm = change.alarms[0] if kind == "second look" else change.alarms[-1]
        where = "all jobs" if alarm.scope == OVERALL else f"profile {alarm.scope}"
        return WatchStep(
            step=number,
            kind=kind,
            jobs=self.watched_,
            time_s=self.records_.last_end_s(),
            reason=f"{alarm.signal} of {where}: {alarm.meaning}",
            change=change.step,
            since_jobs=since - self.records_.history_jobs,
            alarms=[one.to_dict() for one in change.alarms],
            culprit=mend.culprit.sentence() if mend else "",
            repair=mend.repair.to_dict() if mend else {},
            retired=list(retired),
            new=list(new),
            profiles=profiles,
            before=self.records_.quality(since - _RECENT, since),
            since=self.records_.quality(since),
            data_hash=self.records_.data_hash,
        )

    def _chart(self, alarms: list[Alarm]) -> None:
        alarmed = {one.scope for one in alarms}
        levels = {
            name: 1.0 if name in alarmed else max(scope.levels.values(), default=float("nan"))
            for name, scope in self.monitor_.scopes_.items()
        }
        quality = self.records_.quality(len(self.records_) - 200)
        self.chart_.append({**quality, "jobs": self.watched_, "levels": levels})

    def _recount(self) -> None:
        """Recount profiles by key; jobs of a retired profile get their place of today."""
        rows, labels = self.records_.table(), self.records_.labels.copy()
        self.usual_ = UsualProfiles(rows.iloc[: self.records_.history_jobs])
        if self.profiler_ is not None:
            current = [one.profile for one in self.profiler_.profiles_]
            gone = ~np.isin(labels, [OUTLIERS, *current])
            if gone.any():
                labels[gone] = self._assigned(rows[gone])
            self.usual_.add(rows, labels)

    def _assigned(self, jobs: pd.DataFrame) -> Ints:
        if self.profiler_ is None:
            return np.full(len(jobs), OUTLIERS, dtype=np.int64)
        return self.profiler_.predict(jobs)

    def _expect_and_add(self, jobs: pd.DataFrame, labels: Ints) -> Ints:
        if self.profiler_ is None:
            return np.full(len(jobs), OUTLIERS, dtype=np.int64)
        expected = self.usual_.expect(jobs)
        self.usual_.add(jobs, labels)
        return expected

    def _of_profiles(self, labels: Ints, expected: Ints) -> JsonObject:
        """Return what the monitor is given of profiles: the expected one, and whether it fits."""
        if self.profiler_ is None:
            return {}
        misfit = np.where(expected == OUTLIERS, np.nan, labels != expected)
        return {"profiles": expected, "misfit": misfit}
