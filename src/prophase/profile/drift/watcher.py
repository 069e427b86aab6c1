"""Watcher: owns profiles and predictor, watches finished jobs, and mends what broke."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.plural import counted
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.quality import OUTLIERS
from prophase.profile.drift.live import LiveProfiles
from prophase.profile.drift.mending import Mend, mended, plan_mend
from prophase.profile.drift.monitor import FALSE_ALARMS, FEWEST, OVERALL, Alarm, DriftMonitor
from prophase.profile.drift.reprofile import FEWEST as FEWEST_REGROUPED
from prophase.profile.drift.reprofile import reprofile
from prophase.profile.drift.scope import MOST
from prophase.profile.drift.step import LOOKS_AGAIN, Change, Step
from prophase.profile.drift.usual import UsualProfiles
from prophase.profile.predict.methods import DEFAULT, predictor_named
from prophase.profile.predict.predictor import Predictor
from prophase.profile.predict.submitted import arrivals, ends, outcomes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: jobs that are answered, judged and learnt from at a time
STRIDE = 25
#: jobs by which the memory is older that errors are judged by
LAG = 300
#: strides between points of the monitor's chart
_CHART_EVERY = 2
#: jobs before a change that tell how good predictions were
_RECENT = 1_000
#: signals that old outcomes may be the cause of
OF_ERRORS = ("longer", "shorter", "error", "calibration")


class Watcher:
    """Keep profiles and predictions right while jobs finish.

    Parameters
    ----------
    target : str, default="duration_s"
        The column that is predicted and watched.
    method : str, default="default"
        Predictor, by name.
    false_alarms : float, default=2e-5
        False alarms per job to aim at, see :class:`DriftMonitor`.
    act : bool, default=True
        Mend what broke. If False, changes are noticed and nothing is done.
    random_state : int, default=0
        Seed of everything random.

    Attributes
    ----------
    predictor_, profiler_, monitor_
        What is kept right, and what watches it.
    live_ : LiveProfiles
        The dynamic part of the profiles, up to the last job.
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

    def __init__(
        self,
        *,
        target: str = "duration_s",
        method: str = "default",
        false_alarms: float = FALSE_ALARMS,
        act: bool = True,
        random_state: int = 0,
    ) -> None:
        self.target = target
        self.method = method
        self.false_alarms = false_alarms
        self.act = act
        self.random_state = random_state

    def fit(self, history: pd.DataFrame, profiler: WorkloadProfiler | None = None) -> Self:
        """Learn from finished jobs what to predict and what is usual.

        Parameters
        ----------
        profiler : WorkloadProfiler, optional
            Fitted profiles of jobs of the same source. Without it only predictions are watched.
        """
        self.method_ = DEFAULT if self.method == "default" else self.method
        known = np.isfinite(outcomes(history, self.target))
        if known.sum() < 2 * FEWEST:
            raise InputError(
                f"{counted(int(known.sum()), 'finished job')} with a value of {self.target}: too "
                f"few to learn from and to see what is usual. Take a history of {2 * FEWEST}."
            )
        history = in_time_order(history)
        self.profiler_ = profiler
        self._refuse_other_schema(history)
        cut = max(len(history) - MOST, len(history) // 2)
        early, late = history.iloc[:cut], history.iloc[cut:]
        self.ended_ = _known_ends(early)
        said, lagged = self._answers(self._predictor().fit(early, self.target), late)
        self.predictor_ = self._predictor().fit(history, self.target)
        self._parts = [history]
        self.history_jobs_ = len(history)
        self.labels_ = self._assigned(history)
        self.usual_ = UsualProfiles(history)
        self.usual_.add(early, self.labels_[:cut])
        expected = np.concatenate(
            [
                self._expect_and_add(
                    late.iloc[at : at + 100], self.labels_[cut + at : cut + at + 100]
                )
                for at in range(0, len(late), 100)
            ]
        )
        self.expected_ = np.concatenate([np.full(cut, OUTLIERS), expected])
        self.monitor_ = DriftMonitor(
            target=self.target, false_alarms=self.false_alarms, random_state=self.random_state
        ).fit(
            late,
            said,
            lagged=lagged,
            profiles=expected if profiler is not None else None,
            misfit=_misfit(self.labels_[cut:], expected) if profiler is not None else None,
        )
        self.error_ = np.concatenate([np.full(cut, np.nan), self._errors(late, said)])
        self.outside_ = np.concatenate([np.full(cut, np.nan), self._outside(late, said)])
        self._describe_live()
        self.watched_ = 0
        self.steps_: list[Step] = []
        self.changes_: list[Change] = []
        self.mends_: list[Mend] = []
        self.next_step_ = 1
        self.next_profile_ = 1 + max(
            [OUTLIERS] + [one.profile for one in (profiler.profiles_ if profiler else [])]
        )
        self.data_hash_ = _hashed("", history, self.target)
        self.chart_: list[dict[str, Any]] = []
        return self

    def update(
        self,
        finished: pd.DataFrame,
        *,
        accepted: Callable[[int], bool] = lambda jobs: False,
        after_stride: Callable[[list[Step]], None] | None = None,
    ) -> list[Step]:
        """Watch further finished jobs, in the order in which they ended.

        Parameters
        ----------
        accepted : function, optional
            Says of an alarm, by the jobs watched until then, whether it is to be taken as the
            new usual without touching anything.
        after_stride : function, optional
            Called with the new steps after every 25 jobs.

        Returns
        -------
        list of Step
            What was noticed and done.
        """
        if not hasattr(self, "monitor_"):
            raise ParameterError("the watcher has not learnt yet. Call fit(history) first.")
        if finished.empty:
            return []
        self._refuse_other_schema(finished)
        finished = in_time_order(finished)
        made = []
        for first in range(0, len(finished), STRIDE):
            steps = self._stride(finished.iloc[first : first + STRIDE], accepted)
            made += steps
            if after_stride is not None:
                after_stride(steps)
        return made

    def table(self) -> pd.DataFrame:
        """Return all finished jobs, of the history and watched, in the order they counted."""
        if len(self._parts) > 1:
            self._parts = [pd.concat(self._parts, ignore_index=True)]
        return self._parts[0]

    def profiles(self) -> WorkloadProfiler | None:
        """Return the profiles with their dynamic part up to the last job."""
        if self.profiler_ is not None:
            self.profiler_.profiles_ = self.live_.refreshed(self.profiler_.profiles_)
        return self.profiler_

    def _stride(self, jobs: pd.DataFrame, accepted: Callable[[int], bool]) -> list[Step]:
        said, lagged = self._answers(self.predictor_, jobs)
        labels = self._assigned(jobs)
        profiled = self.profiler_ is not None
        expected = self._expect_and_add(jobs, labels)
        alarms = self.monitor_.update(
            jobs,
            said,
            lagged=lagged,
            profiles=expected if profiled else None,
            misfit=_misfit(labels, expected) if profiled else None,
        )
        self._parts.append(jobs)
        self.labels_ = np.concatenate([self.labels_, labels])
        self.expected_ = np.concatenate([self.expected_, expected])
        self.error_ = np.concatenate([self.error_, self._errors(jobs, said)])
        self.outside_ = np.concatenate([self.outside_, self._outside(jobs, said)])
        self.live_.update(jobs, labels)
        self.watched_ += len(jobs)
        self.data_hash_ = _hashed(self.data_hash_, jobs, self.target)
        if alarms or self.watched_ // STRIDE % _CHART_EVERY == 0:
            self._chart(alarms)
        steps = [self._noticed(alarms, accepted)] if alarms else []
        for change in [one for one in self.changes_ if one.due[0] <= self.watched_]:
            steps.append(self._look_again(change))
        self.steps_ += steps
        return steps

    def _noticed(self, alarms: list[Alarm], accepted: Callable[[int], bool]) -> Step:
        first = alarms[0]
        if accepted(self.watched_) or not self.act:
            kind = "accepted" if self.act else "alarm"
            change = Change(self.next_step_, self.history_jobs_ + first.since, [], alarms)
            return self._step(kind, change)
        profiles = [int(one.scope) for one in alarms if one.scope != OVERALL]
        if self.changes_:
            # the same change, seen by another monitor
            change = self.changes_[-1]
            change.alarms += alarms
            change.broken += [one for one in profiles if one not in change.broken]
            return self._step("alarm", change)
        due = [self.watched_ + jobs for jobs in LOOKS_AGAIN]
        change = Change(
            self.next_step_, self.history_jobs_ + first.since, due, alarms, broken=profiles
        )
        self.changes_.append(change)
        return self._mend("alarm", change)

    def _look_again(self, change: Change) -> Step:
        change.due = [at for at in change.due if at > self.watched_]
        step = self._mend("second look", change)
        self.monitor_.rebase(alarmed=bool(change.due))
        if not change.due:
            self.changes_.remove(change)
        return step

    def _mend(self, kind: str, change: Change) -> Step:
        rows = self.table()
        if change.mend is not None:
            self.mends_.remove(change.mend)
        settings: Any = {
            "method": self.method_,
            "target": self.target,
            "random_state": self.random_state,
        }
        change.mend = None
        if any(one.signal in OF_ERRORS for one in change.alarms):
            change.mend = plan_mend(
                rows,
                change.since,
                earlier=self.mends_,
                usual_error=self._quality(change.since - _RECENT, change.since)["error"],
                **settings,
            )
            self.mends_.append(change.mend)
        self.predictor_ = mended(rows, self.mends_, **settings)
        retired, new, said = self._regroup(change, rows)
        return self._step(kind, change, retired, new, said)

    def _regroup(
        self, change: Change, rows: pd.DataFrame
    ) -> tuple[tuple[int, ...], tuple[int, ...], str]:
        """Make profiles anew of what broke; all others stay as they are."""
        if self.profiler_ is None or change.profiles_done:
            return (), (), ""
        since = change.since
        labels, expected = self.labels_[since:], self.expected_[since:]
        near = [name for name, one in self.monitor_.scopes_.items() if one.state == "warning"]
        change.broken += [
            int(one) for one in near if one != OVERALL and int(one) not in change.broken
        ]
        current = {one.profile for one in self.profiler_.profiles_}
        change.broken = [one for one in change.broken if one in current]
        belonged = np.where(np.isin(expected, change.broken), expected, OUTLIERS)
        belonged = np.where(np.isin(labels, change.broken), labels, belonged)
        free = (belonged != OUTLIERS) | (labels == OUTLIERS)
        if free.sum() < FEWEST_REGROUPED and change.due:
            return (), (), "waits for more jobs since the change"
        # a job that found its place in an untouched profile stays there
        free &= (labels == OUTLIERS) | np.isin(labels, change.broken)
        found = reprofile(
            self.profiler_,
            rows.iloc[since:][free].reset_index(drop=True),
            belonged[free],
            change.broken,
            first_number=self.next_profile_,
        )
        change.profiles_done = bool(found.new)
        if found.new:
            self.profiler_ = found.profiler
            self.next_profile_ = max(found.new) + 1
            self.labels_[since:][free] = self._assigned(rows.iloc[since:][free])
            self.monitor_.drop(list(found.retired))
            self._describe_live()
            self._recount(found.retired)
        return found.retired, found.new, found.note

    def _step(
        self,
        kind: str,
        change: Change,
        retired: tuple[int, ...] = (),
        new: tuple[int, ...] = (),
        profiles: str = "",
    ) -> Step:
        number, self.next_step_ = self.next_step_, self.next_step_ + 1
        since = change.since
        last = float(ends(self._parts[-1])[-1])
        mend = change.mend
        worst = change.alarms[0] if kind == "second look" else change.alarms[-1]
        where = "all jobs" if worst.scope == OVERALL else f"profile {worst.scope}"
        return Step(
            step=number,
            kind=kind,
            jobs=self.watched_,
            time_s=last if math.isfinite(last) else None,
            reason=f"{worst.signal} of {where}: {worst.meaning}",
            change=change.step,
            since_jobs=since - self.history_jobs_,
            alarms=[one.to_dict() for one in change.alarms],
            culprit=mend.culprit.sentence() if mend else "",
            repair=mend.repair.to_dict() if mend else {},
            retired=list(retired),
            new=list(new),
            profiles=profiles,
            before=self._quality(since - _RECENT, since),
            since=self._quality(since, len(self.error_)),
            data_hash=self.data_hash_,
        )

    def _quality(self, first: int, last: int) -> dict[str, float]:
        """Return median absolute log error and share outside the range over some rows."""
        error = self.error_[max(first, 0) : last]
        outside = self.outside_[max(first, 0) : last]
        error, outside = error[np.isfinite(error)], outside[np.isfinite(outside)]
        return {
            "jobs": len(error),
            "error": float(np.median(np.abs(error))) if len(error) else 0.0,
            "outside": float(outside.mean()) if len(outside) else 0.0,
        }

    def _chart(self, alarms: list[Alarm]) -> None:
        alarmed = {one.scope for one in alarms}
        levels = {
            name: 1.0 if name in alarmed else max(scope.levels.values(), default=0.0)
            for name, scope in self.monitor_.scopes_.items()
        }
        quality = self._quality(len(self.error_) - 200, len(self.error_))
        self.chart_.append({"jobs": self.watched_, "levels": levels, **quality})

    def _describe_live(self) -> None:
        metrics = _metrics(self.profiler_)
        self.live_ = LiveProfiles(metrics)
        if self.profiler_ is not None:
            self.live_.update(self.table(), self.labels_)

    def _recount(self, retired: tuple[int, ...] = ()) -> None:
        """Count profiles by key anew; those that are no more suggest nothing."""
        rows = self.table()
        current = {one.profile for one in self.profiler_.profiles_} if self.profiler_ else set()
        kept = np.isin(self.labels_, [OUTLIERS, *current])
        self.usual_ = UsualProfiles(rows.iloc[: self.history_jobs_])
        self.usual_.add(rows[kept], self.labels_[kept])

    def _assigned(self, jobs: pd.DataFrame) -> Ints:
        if self.profiler_ is None:
            return np.full(len(jobs), OUTLIERS, dtype=np.int64)
        return self.profiler_.predict(jobs)

    def _answers(
        self, predictor: Predictor, jobs: pd.DataFrame
    ) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        """Return what was predicted at submission, and from a memory that is ``LAG`` jobs older.

        The jobs count for the predictor from then on.
        """
        arrival = arrivals(jobs)
        if not (np.isfinite(arrival).all() and np.isfinite(ends(jobs)).all()):
            found = predictor.predict(jobs)
            predictor.update(jobs)
            return found, None
        # every outcome later than a submission is hidden from its answer
        predictor.update(jobs)
        ended = np.maximum.accumulate(np.concatenate([self.ended_, ends(jobs)]))
        before = ended[np.maximum(np.arange(-len(jobs), 0) + len(ended) - LAG, 0)]
        self.ended_ = ended[-LAG:]
        lagged = predictor.predict(jobs, as_of=np.minimum(arrival, before))
        return predictor.predict(jobs, as_of="submit"), lagged

    def _expect_and_add(self, jobs: pd.DataFrame, labels: Ints) -> Ints:
        if self.profiler_ is None:
            return np.full(len(jobs), OUTLIERS, dtype=np.int64)
        expected = self.usual_.expect(jobs)
        self.usual_.add(jobs, labels)
        return expected

    def _errors(self, jobs: pd.DataFrame, said: pd.DataFrame) -> Floats:
        floor = self.predictor_.floor_
        outcome = np.maximum(outcomes(jobs, self.target), floor)
        return np.asarray(
            np.log(outcome) - np.log(np.maximum(said["value"].to_numpy(float), floor))
        )

    def _outside(self, jobs: pd.DataFrame, said: pd.DataFrame) -> Floats:
        outcome = outcomes(jobs, self.target)
        low, high = said["low"].to_numpy(float), said["high"].to_numpy(float)
        known = np.isfinite(outcome) & ~np.isnan(low)
        return np.where(known, (outcome < low) | (outcome > high), np.nan)

    def _predictor(self) -> Predictor:
        return predictor_named(self.method_, random_state=self.random_state)

    def _refuse_other_schema(self, jobs: pd.DataFrame) -> None:
        lacking = [n for n in (self.profiler_.columns_ if self.profiler_ else ()) if n not in jobs]
        if lacking:
            raise MissingColumnError(
                f"the profiles were learnt with {', '.join(lacking)}, which these jobs lack. Give "
                "jobs of the same source, or learn profiles from this one: prophase profile fit"
            )


def in_time_order(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return jobs in the order in which they ended."""
    order = np.argsort(ends(jobs), kind="stable")
    return jobs.iloc[order].reset_index(drop=True)


def _known_ends(jobs: pd.DataFrame) -> Floats:
    """Return the last moments at which outcomes became known."""
    return np.maximum.accumulate(ends(jobs))[-LAG:]


def _misfit(labels: Ints, expected: Ints) -> Floats:
    return np.where(expected == OUTLIERS, np.nan, labels != expected)


def _metrics(profiler: WorkloadProfiler | None) -> list[str]:
    if profiler is None:
        return []
    return list(dict.fromkeys(name for one in profiler.profiles_ for name in one.dynamic))


def _hashed(before: str, jobs: pd.DataFrame, target: str) -> str:
    """Return a hash over all jobs so far: their names and outcomes, in order."""
    digest = hashlib.sha256(before.encode())
    ids = jobs["job_id"] if "job_id" in jobs else pd.Series(jobs.index)
    digest.update("\n".join(ids.astype(str)).encode())
    digest.update(outcomes(jobs, target).tobytes())
    return digest.hexdigest()
