from __future__ import annotations

import numpy as np
import pytest

from prophase.profile.classify.classifier import UNKNOWN, ProfileClassifier
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.node_types import rank_for_job
from prophase.profile.running_jobs import as_predicted, completed, watch_running
from prophase.trace.schema import known_at_submit
from prophase.trace.trace_tables import open_trace


@pytest.mark.parametrize("trace", ["pai", "mit-supercloud"])
def test_most_real_jobs_are_watched_and_placed_by_their_predicted_profile(
    trace: str, shared_data
) -> None:
    jobs = open_trace(shared_data / trace, tables=["jobs"]).jobs
    jobs = jobs[jobs["end_s"].notna()]
    now_s = float(jobs["start_s"].quantile(0.8))
    past = jobs[jobs["end_s"] <= now_s].reset_index(drop=True)
    ran = jobs[(jobs["start_s"] <= now_s) & (jobs["end_s"] > now_s)]
    ran = ran.assign(end_s=np.nan, duration_s=np.nan, status="running")
    profiler = WorkloadProfiler().fit(past)
    classifier = ProfileClassifier(metadata="all").fit(past, profiler.labels_)
    wide = as_predicted(profiler.profiles_, completed(past), classifier)
    found = watch_running(ran, wide, classifier, now_s=now_s)
    assert len(found) == len(ran) > 0
    assert np.mean([one.verdict == "profile unknown" for one in found]) < 0.1
    assert np.mean([one.deviates for one in found]) < 0.3
    late = watch_running(ran, wide, classifier, now_s=now_s + 60 * 86_400.0)
    assert np.mean([one.metric == "duration_s" for one in late]) > 0.5
    later = jobs.loc[jobs["start_s"] > now_s, known_at_submit(map(str, jobs.columns))]
    assert (
        np.mean(
            [
                one != UNKNOWN
                for one in classifier.assign(later, partial=True, likely=True)["profile"]
            ]
        )
        > 0.9
    )
    asked = later.iloc[0].dropna().to_dict()
    rows, alike = rank_for_job(past, asked, predicted=(profiler, classifier))
    assert (rows[0]["rank"], "predicted with probability" in alike) == (1, True)
