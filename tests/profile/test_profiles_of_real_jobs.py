"""What a predicted profile is for, on real jobs: watching those that run, and ranking nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.profile.classify.classifier import UNKNOWN, ProfileClassifier
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.node_types import rank_for_job
from prophase.profile.running_jobs import as_predicted, completed, watch_running
from prophase.trace.schema import known_at_submit
from prophase.trace.trace_tables import open_trace


def _at(jobs: pd.DataFrame, now_s: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what had ended by then, and what ran then, without what came later."""
    jobs = jobs[jobs["end_s"].notna()]
    ran = jobs[(jobs["start_s"] <= now_s) & (jobs["end_s"] > now_s)]
    ran = ran.assign(end_s=np.nan, duration_s=np.nan, status="running")
    return jobs[jobs["end_s"] <= now_s].reset_index(drop=True), ran


@pytest.fixture(scope="module", params=["pai", "mit-supercloud"])
def real(request: pytest.FixtureRequest, shared_data: Path) -> tuple[str, pd.DataFrame]:
    return request.param, open_trace(shared_data / request.param, tables=["jobs"]).jobs


def test_most_running_jobs_have_a_known_profile_and_few_are_unlike_it(real) -> None:
    name, jobs = real
    now_s = float(jobs["start_s"].quantile(0.8))
    past, ran = _at(jobs, now_s)
    profiler = WorkloadProfiler().fit(past)
    classifier = ProfileClassifier(metadata="all").fit(past, profiler.labels_)
    done = completed(past)
    wide = as_predicted(profiler.profiles_, done, classifier)
    found = watch_running(ran, wide, classifier, now_s=now_s)
    assert len(found) == len(ran) > 0
    assert np.mean([one.verdict == "profile unknown" for one in found]) < 0.1
    assert np.mean([one.deviates for one in found]) < 0.3
    # the same jobs a month later, if none of them ended: each is told as far too long
    late = watch_running(ran, wide, classifier, now_s=now_s + 60 * 86_400.0)
    told = [one for one in late if one.metric == "duration_s"]
    assert len(told) > len(late) / 2, name
    assert "see whether it makes progress" in told[0].sentence()


def test_most_new_jobs_get_nodes_ranked_by_their_predicted_profile(real) -> None:
    _, jobs = real
    now_s = float(jobs["start_s"].quantile(0.8))
    past, _ = _at(jobs, now_s)
    profiler = WorkloadProfiler().fit(past)
    classifier = ProfileClassifier(metadata="all").fit(past, profiler.labels_)
    later = jobs[jobs["start_s"] > now_s]
    later = later[[name for name in known_at_submit(map(str, jobs.columns)) if name in later]]
    assert np.mean([one != UNKNOWN for one in classifier.likely(later)]) > 0.9
    asked = later.iloc[0].dropna().to_dict()
    rows, alike = rank_for_job(past, asked, predicted=(profiler, classifier))
    assert "predicted with probability" in alike
    assert rows[0]["rank"] == 1
    assert rows[0]["duration_low_s"] <= rows[0]["duration_s"] <= rows[0]["duration_high_s"]
