"""DriftMonitor: watches finished jobs against their predictions, overall and per profile."""

from __future__ import annotations

from dataclasses import KW_ONLY, asdict, dataclass
from typing import Self

import numpy as np
import pandas as pd

from prophase.array_types import Array, Ints
from prophase.errors import InputError, ParameterError
from prophase.json_types import JsonObject
from prophase.plural import counted
from prophase.profile.clusters.quality import OUTLIERS
from prophase.profile.drift.drift_signals import (
    BURST,
    SIGNALS,
    Keys,
    RawScores,
    alike_before,
    raw_scores,
)
from prophase.profile.drift.monitor_scope import Scope
from prophase.profile.predict.back_off_keys import choose_levels, hash_columns, key_of
from prophase.profile.predict.submit_columns import submitted

OVERALL = "overall"
#: false alarms per job that are allowed; measured ones stay below 1 in 10,000 with it
FALSE_ALARMS = 1e-5
#: fewest jobs of a history; a profile with fewer is learned before it is watched
FEWEST = 300


@dataclass(frozen=True)
class Alarm:
    """A change was noticed: in which scope, by which signal, where and since when."""

    #: overall, or the number of a profile as text
    scope: str
    signal: str
    #: places in the stream of all jobs since ``fit``
    at: int
    since: int
    #: jobs of the scope between the two
    jobs: int
    meaning: str

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        return asdict(self)


@dataclass(eq=False, repr=False)
class DriftMonitor:
    """Notice when predictions stop being right.

    Every finished job is compared with what was predicted for it: by how much it was off,
    whether it lay outside its range, whether its metadata were new, and whether its use was
    that of the profile its metadata suggest. Each of these is watched overall and for every
    profile by a CUSUM whose threshold is learned from a quiet time.

    Attributes
    ----------
    scopes_ : dict
        ``overall`` and the profiles -> their monitors.
    jobs_ : int
        Jobs watched since ``fit``.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> jobs = pd.DataFrame({"user": draw.choice(list("abcdefgh"), 3000)})
    >>> jobs["duration_s"] = 600 * np.exp(draw.normal(0.0, 0.3, 3000))
    >>> said = pd.DataFrame({"value": 600.0, "low": 370.0, "high": 970.0}, index=jobs.index)
    >>> said["stratum"] = "seen"
    >>> monitor = DriftMonitor().fit(jobs[:1500], said[:1500])
    >>> monitor.update(jobs[1500:2500], said[1500:2500])
    []
    >>> jobs.loc[2500:, "duration_s"] *= 3
    >>> found = monitor.update(jobs[2500:], said[2500:])
    >>> found[0].scope, found[0].at < 1030
    ('overall', True)
    """

    _: KW_ONLY
    #: the column that is predicted
    target: str = "duration_s"
    #: false alarms per job to aim at, all monitors together. Half of them are for the whole
    #: stream, half for profiles
    false_alarms: float = FALSE_ALARMS
    #: seed of thresholds
    random_state: int = 0

    def fit(
        self,
        jobs: pd.DataFrame,
        predictions: pd.DataFrame,
        *,
        lagged: pd.DataFrame | None = None,
        profiles: Ints | None = None,
        misfit: Array | None = None,
    ) -> Self:
        """Learn what is usual from finished jobs in time order and their predictions.

        Parameters
        ----------
        predictions : DataFrame
            What was predicted for these jobs before they ran, as ``Predictor.predict`` returns.
        lagged : DataFrame, optional
            The same from a somewhat older memory, as long ago as a change may take to be noticed.
            Errors are judged by it: a predictor that follows a change at once would hide it.
        profiles : array, optional
            Profile that each job's metadata suggest; -1 for none. Without it only the whole
            stream is watched.
        misfit : array, optional
            1 where the use was that of another profile, NaN where none was expected.
        """
        if not 0 < self.false_alarms < 0.1:
            raise ParameterError(
                f"false_alarms is {self.false_alarms}; give a rate per job, such as 1e-5."
            )
        if len(jobs) < FEWEST:
            raise InputError(
                f"{counted(len(jobs), 'finished job')} cannot show what is usual; a monitor needs "
                f"{FEWEST}. Take a longer history."
            )
        self.level_ = choose_levels(submitted(jobs))[0]
        self.recent_ = np.empty(0, dtype=np.uint64)
        self.jobs_ = 0
        raw = self._compare(jobs, predictions, lagged, misfit)
        self.scopes_ = {OVERALL: self._scope(OVERALL, raw)}
        labels = np.full(len(jobs), OUTLIERS) if profiles is None else np.asarray(profiles)
        for number in np.unique(labels[labels != OUTLIERS]).tolist():
            self.scopes_[str(number)] = self._scope(str(number), raw.rows(labels == number))
        return self

    def update(
        self,
        jobs: pd.DataFrame,
        predictions: pd.DataFrame,
        *,
        lagged: pd.DataFrame | None = None,
        profiles: Ints | None = None,
        misfit: Array | None = None,
    ) -> list[Alarm]:
        """Watch further finished jobs; returns an alarm per scope that changed.

        After an alarm a scope relearns what is usual, from the jobs that follow.
        """
        if not hasattr(self, "scopes_"):
            raise ParameterError("the monitor does not know what is usual yet. Call fit first.")
        raw = self._compare(jobs, predictions, lagged, misfit)
        labels = np.full(len(jobs), OUTLIERS) if profiles is None else np.asarray(profiles)
        places = np.arange(self.jobs_, self.jobs_ + len(jobs))
        self.jobs_ += len(jobs)
        alarms = []
        for number in np.unique(labels[labels != OUTLIERS]).tolist():
            if str(number) not in self.scopes_:
                self.scopes_[str(number)] = self._scope(str(number), RawScores.none())
        for name, scope in self.scopes_.items():
            rows = np.ones(len(jobs), bool) if name == OVERALL else labels == int(name)
            if rows.any():
                alarms += self._watch(name, scope, raw.rows(rows), places[rows])
        return alarms

    def drop(self, profiles: list[int]) -> None:
        """Stop watching profiles that are no more."""
        for number in profiles:
            self.scopes_.pop(str(number), None)

    def rebase(self) -> None:
        """Relearn what is usual, from the jobs that follow: another predictor answers."""
        for scope in self.scopes_.values():
            scope.rebase()

    def table(self) -> list[JsonObject]:
        """Return a row per scope: state, jobs watched, and how near each signal is to an alarm."""
        return [
            {
                "scope": name,
                "state": scope.state,
                "watched_jobs": scope.jobs_,
                "levels": {signal: scope.levels.get(signal) for signal in SIGNALS},
            }
            for name, scope in self.scopes_.items()
        ]

    def keys(self, jobs: pd.DataFrame) -> Keys:
        """Return the key of each job: jobs that agree in all they say at submission share it."""
        seen = submitted(jobs)
        return key_of(self.level_, hash_columns(seen, set(self.level_.columns)), len(seen))

    def _scope(self, name: str, raw: RawScores) -> Scope:
        # profiles share one stream, so rates per own job add up to the rate of one
        return Scope(
            rate=0.5 * self.false_alarms / len(SIGNALS),
            within=self.scopes_[OVERALL] if name != OVERALL else None,
            random_state=self.random_state,
        ).fit(raw)

    def _watch(self, name: str, scope: Scope, raw: RawScores, places: Ints) -> list[Alarm]:
        found = scope.update(raw, places)
        if found is None:
            return []
        signal, at, since, jobs = found
        return [Alarm(name, signal, at, since, jobs, SIGNALS[signal])]

    def _compare(
        self,
        jobs: pd.DataFrame,
        predictions: pd.DataFrame,
        lagged: pd.DataFrame | None,
        misfit: Array | None,
    ) -> RawScores:
        keys = self.keys(jobs)
        both = np.concatenate([self.recent_, keys])
        alike = alike_before(both)[len(self.recent_) :]
        self.recent_ = both[-BURST:]
        return raw_scores(
            jobs,
            predictions,
            target=self.target,
            key=keys,
            alike=alike,
            lagged=lagged,
            misfit=misfit,
        )
