"""Profiles: what all jobs use to compare with, when a profile's jobs come, and what tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.classify.explanation import shap_of_job
from prophase.profile.clusters.ended_jobs import ended_jobs
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.serve.pages.work import Progress
from prophase.trace.describe.column_arrays import has_values, numbers
from prophase.trace.describe.trace_clock import WEEKDAYS, hour_of_week, knows_weekdays
from prophase.trace.trace_tables import open_trace
from prophase.trace.workspace_paths import CLASSIFIER, PROFILES

_QUANTILES = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
#: a push that is smaller changes nothing
_LEAST_PUSH = 0.01


def context(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return what single profiles are compared with."""
    progress("reading the jobs", 5)
    trace = open_trace(folder, tables=["jobs"])
    jobs = ended_jobs(trace.jobs).jobs
    profiler = WorkloadProfiler.load(folder / PROFILES)
    progress("looking at all jobs", 25)
    metrics = sorted({metric for one in profiler.profiles_ for metric in one.dynamic})
    overall = {metric: _quantiles(jobs, metric) for metric in metrics if has_values(jobs, metric)}
    progress("finding when jobs come", 40)
    same = profiler.recognise(jobs)
    return {
        "overall": overall,
        "hours": _hours(same.jobs, np.asarray(same.labels), trace.clock),
        "jobs": len(jobs),
    }


def _quantiles(jobs: pd.DataFrame, metric: str) -> dict[str, float]:
    known = numbers(jobs, metric)
    known = known[np.isfinite(known)]
    return {name: float(np.quantile(known, q)) for name, q in _QUANTILES.items()}


def _hours(jobs: pd.DataFrame, labels: Any, clock: str) -> dict[str, Any] | None:
    """Return per profile how many jobs came in each hour of each day."""
    if not has_values(jobs, "submit_s"):
        return None
    when = numbers(jobs, "submit_s")
    known = np.isfinite(when)
    labels = labels[known]
    hour = hour_of_week(when[known], clock)
    dated = knows_weekdays(clock)
    days = list(WEEKDAYS) if dated else [f"day {1 + one}" for one in range(hour.max() // 24 + 1)]
    counts = {}
    for label in np.unique(labels):
        flat = np.bincount(hour[labels == label], minlength=24 * len(days))
        counts[str(label)] = flat.reshape(-1, 24).tolist()
    return {"days": days, "counts": counts}


def reasons(folder: Path, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Return what makes the classifier tell a typical job of a profile to be of it."""
    progress("reading the jobs", 10)
    jobs = ended_jobs(open_trace(folder, tables=["jobs"]).jobs).jobs
    same = WorkloadProfiler.load(folder / PROFILES).recognise(jobs)
    wanted = arguments["profile"]
    own = same.jobs[np.asarray(same.labels) == wanted]
    progress("loading the classifier", 50)
    classifier = ProfileClassifier.load(folder / CLASSIFIER)
    if own.empty or wanted not in classifier.classes_:
        return {"missing": "The classifier has not learnt this profile: it has too few jobs."}
    progress("explaining a typical job", 75)
    found = shap_of_job(classifier, _typical(own, classifier.columns_), wanted)
    pushes = found.pushes[found.pushes["push"].abs() > _LEAST_PUSH]
    return {"probability": found.probability, "pushes": pushes.head(8).to_dict("records")}


def _typical(jobs: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the job that has most of the commonest values."""
    score = np.zeros(len(jobs))
    for name in columns:
        if name in jobs and jobs[name].notna().any():
            score += (jobs[name] == jobs[name].mode().iloc[0]).to_numpy(bool)
    return jobs.iloc[[int(score.argmax())]]
