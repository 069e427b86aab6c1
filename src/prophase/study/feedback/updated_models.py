"""Models updated from reported jobs without a refit, so that none counts twice."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from prophase.errors import ProphaseError
from prophase.json_types import JsonMapping
from prophase.profile.clusters.default_profiles import ended_jobs
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.drift.live_profiles import LiveProfiles
from prophase.profile.predict.job_model import JobModel
from prophase.profile.predict.predictor import Predictor
from prophase.trace.workspace_paths import WATCH

if TYPE_CHECKING:
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.clusters.profiles import Profile
    from prophase.profile.predict.job_model import JobModel
    from prophase.sizing.recommender import Recommender


log = logging.getLogger("prophase.serve")
_CLOCKS = ("submit_s", "start_s", "end_s", "submit_order")


def learnt_from(
    model: JobModel,
    jobs: Sequence[JsonMapping],
    knows: Mapping[str, frozenset[str]] | None = None,
) -> JobModel:
    """Return a model that has also seen the jobs; the one given stays as it is.

    Whoever is just answering with the model given is not disturbed.

    Parameters
    ----------
    knows : mapping, optional
        Target -> ids of jobs that its predictor has learnt from before.

    Examples
    --------
    >>> from prophase.profile.predict.job_model import learn
    >>> history = pd.DataFrame({"user": ["ann", "bob"] * 20, "duration_s": [60.0, 600.0] * 20})
    >>> model = learn(history, method="backoff-median")
    >>> reported = [{"job_id": str(n), "user": "eve", "duration_s": 9.0} for n in range(9)]
    >>> later = learnt_from(model, reported)
    >>> later.predict(pd.DataFrame({"user": ["eve"]}))["value"].round().tolist()
    [9.0]
    """
    table = pd.DataFrame([dict(job) for job in jobs])
    predictors = {}
    for target, predictor in model.predictors.items():
        known = (knows or {}).get(target, frozenset())
        fresh = table[~table["job_id"].isin(known)] if known else table
        if target.partition("=")[0] not in fresh or fresh.empty:
            predictors[target] = predictor
            continue
        mine = predictor.own_copy()
        mine.update(_with_clock(fresh, predictor))
        predictors[target] = mine
    return replace(
        model,
        predictors=predictors,
        jobs=model.jobs + len(table),
        seen=model.seen.joined(table),
        exemplars=model.exemplars.joined(table),
    )


def learnt_from_each(
    model: JobModel,
    jobs: Sequence[JsonMapping],
    knows: Mapping[str, frozenset[str]] | None = None,
) -> JobModel:
    """Return what :func:`learnt_from` returns; a job that cannot be learnt from is left out.

    One strange report must not keep the model from all others.
    """
    try:
        return learnt_from(model, jobs, knows)
    except Exception:
        if len(jobs) == 1:
            log.exception("a reported job cannot be learnt from")
            return model
    middle = len(jobs) // 2
    return learnt_from_each(learnt_from_each(model, jobs[:middle], knows), jobs[middle:], knows)


def observed_by(
    recommender: Recommender, jobs: Sequence[JsonMapping], known: frozenset[str]
) -> Recommender:
    """Return a recommender that has also seen the jobs; the one given stays as it is.

    Parameters
    ----------
    known : frozenset of str
        Jobs that it has learnt from before.
    """
    fresh = [dict(job) for job in jobs if str(job.get("job_id")) not in known]
    if not fresh:
        return recommender
    try:
        return recommender.observed(pd.DataFrame(fresh))
    except Exception:
        if len(fresh) == 1:
            log.exception("a reported job cannot be learnt from")
            return recommender
    middle = len(fresh) // 2
    return observed_by(observed_by(recommender, fresh[:middle], known), fresh[middle:], known)


def _with_clock(table: pd.DataFrame, predictor: Predictor) -> pd.DataFrame:
    """Let jobs without any clock count as the latest, in the order they were reported."""
    clocks = [name for name in _CLOCKS if name in table]
    bare = table[clocks].isna().all(axis=1).to_numpy() if clocks else np.ones(len(table), bool)
    known = predictor.newest_[np.isfinite(predictor.newest_)]
    if not bare.any() or not len(known):
        return table
    after = known[-1] + 1.0 + np.arange(len(table))
    end = table["end_s"].to_numpy(np.float64) if "end_s" in table else np.full(len(table), np.nan)
    return table.assign(end_s=np.where(bare, after, end))


class LiveSummaries:
    """What profiles look like with every reported job counted in.

    Parameters
    ----------
    profiler : WorkloadProfiler
        The profiles as they were learnt.
    classifier : ProfileClassifier or None
        Tells the profile of a job that reports no use.
    history : DataFrame
        The jobs of the workspace.
    """

    def __init__(
        self,
        profiler: WorkloadProfiler,
        classifier: ProfileClassifier | None,
        history: pd.DataFrame,
    ) -> None:
        self.profiler, self.classifier = profiler, classifier
        told = profiler.profiles_
        self._live = LiveProfiles(dict.fromkeys(name for one in told for name in one.dynamic))
        known = profiler.recognise(ended_jobs(history).jobs)
        self._live.update(known.jobs, known.labels)
        self._ids = set(known.jobs["job_id"].astype(str)) if "job_id" in known.jobs else set()
        #: jobs whose profile could not be told
        self.without_profile = 0

    def add(self, jobs: Sequence[JsonMapping]) -> None:
        """Count reported jobs in; those of the history are there already."""
        fresh = [dict(job) for job in jobs if job["job_id"] not in self._ids]
        if not fresh:
            return
        table = pd.DataFrame(fresh)
        self._ids.update(table["job_id"])
        try:
            labels = self._labels(table)
        except ProphaseError:
            if len(table) == 1:
                self.without_profile += 1
                return
            self._ids.difference_update(table["job_id"])
            for job in fresh:
                self.add([job])
            return
        told = labels != _NOT_TOLD
        self.without_profile += int((~told).sum())
        if told.any():
            self._live.update(table[told], labels[told])

    def profiles(self) -> list[Profile]:
        """Return the profiles up to the last job."""
        return self._live.refreshed(self.profiler.profiles_)

    def _labels(self, table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the profile of each job: by its use, else by its metadata."""
        labels = np.full(len(table), _NOT_TOLD, dtype=np.int64)
        use = table.reindex(columns=list(self.profiler.columns_))
        used = use.notna().any(axis=1).to_numpy()
        if used.any():
            labels[used] = self.profiler.predict(use[used].astype(np.float64))
        if self.classifier is not None and not used.all():
            told = self.classifier.assign(table[~used], partial=True)["profile"]
            numbers = {str(one.profile): one.profile for one in self.profiler.profiles_}
            labels[~used] = [numbers.get(str(name), _NOT_TOLD) for name in told]
        return labels


_NOT_TOLD = np.iinfo(np.int64).min


def known_jobs(model: JobModel, jobs: pd.DataFrame, folder: Path) -> dict[str, frozenset[str]]:
    """Return, per target, the ids of jobs that its predictor knows.

    Those of the job table it was learnt from, and those that ``prophase watch`` has taken in the
    workspace if it was that which published the predictor: it then knows more outcomes than
    the table has.
    """
    from prophase.profile.predict.submit_columns import outcomes

    table = frozenset(jobs["job_id"].astype(str)) if "job_id" in jobs else frozenset()
    watched = _watched(folder)
    found = {}
    for target, predictor in model.predictors.items():
        try:
            learnt = int(np.isfinite(outcomes(jobs, target)).sum())
        except ProphaseError:
            learnt = 0
        found[target] = table | watched if len(predictor.history_) > learnt else table
    return found


def _watched(folder: Path) -> frozenset[str]:
    parts = sorted((folder / WATCH).glob("jobs-[0-9]*.parquet"))
    ids = [pd.read_parquet(path, columns=["job_id"])["job_id"].astype(str) for path in parts]
    return frozenset().union(*ids) if ids else frozenset()
