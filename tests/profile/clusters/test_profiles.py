from __future__ import annotations

import json

import numpy as np
import pandas as pd

from prophase.profile.clusters.clustering import Clustering
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.profiles import (
    describe_profiles,
    metadata_columns,
    profile_from_dict,
)
from prophase.profile.clusters.quality import Silhouettes


def test_static_metadata_names_what_is_common_in_a_profile_and_how_unusual_it_is(
    jobs: pd.DataFrame,
) -> None:
    labels = jobs["kind"].to_numpy(np.int64)
    found = Clustering(labels, np.ones(len(jobs)))
    outliers, bert, *_ = describe_profiles(jobs, found, metrics=["duration_s"])
    assert outliers.outliers
    workload = {one.column: one for one in bert.static}["workload"]
    assert (workload.mode, workload.share) == ("bert", 1.0)
    assert workload.lift == 192 / 60
    assert bert.sentence().endswith(
        "60 jobs (31.2%); median 9.85 min; set apart by workload bert (100%)"
    )


def test_only_what_is_known_at_submission_is_metadata(jobs: pd.DataFrame) -> None:
    columns = metadata_columns(jobs.assign(request_gpus=1.0, attr_batch=8))
    assert columns == ["workload", "task", "request_gpus", "attr_batch"]


def test_numbers_asked_for_are_shown_without_decimals(jobs: pd.DataFrame) -> None:
    found = Clustering(np.zeros(len(jobs), dtype=np.int64), np.ones(len(jobs)))
    table = jobs.assign(request_gpus=[4.0, None] + [0.5] * (len(jobs) - 2))
    only = describe_profiles(table, found, metrics=[])[0]
    gpus = {one.column: one for one in only.static}["request_gpus"]
    assert set(gpus.top) == {"0.5", "4"}


def test_a_profile_with_many_misplaced_jobs_is_doubtful(jobs: pd.DataFrame) -> None:
    labels = jobs["kind"].to_numpy(np.int64)
    rows = np.flatnonzero(labels == 0)[:10]
    scores = Silhouettes(rows, np.array([-0.5] * 3 + [0.5] * 7), labels[rows])
    found = Clustering(labels, np.ones(len(jobs)))
    profiles = describe_profiles(jobs, found, metrics=[], scores=scores)
    by_number = {one.profile: one for one in profiles}
    assert by_number[0].separation is not None
    assert by_number[0].separation.doubtful
    assert by_number[0].separation.negative_frac == 0.3
    assert by_number[1].separation is None
    assert by_number[-1].separation is None


def test_profiles_come_back_from_json_unchanged(jobs: pd.DataFrame) -> None:
    found = Clustering(jobs["kind"].to_numpy(np.int64), np.ones(len(jobs)))
    jobs.loc[3, "cpu_mean_cores"] = np.nan
    for profile in describe_profiles(jobs, found, metrics=["duration_s", "cpu_mean_cores"]):
        again = json.loads(json.dumps(profile.to_dict(), allow_nan=False))
        assert profile_from_dict(again) == profile


def test_a_table_without_names_or_clock_has_profiles() -> None:
    jobs = pd.DataFrame({"duration_s": [1.0, 2.0, 900.0]})
    found = Clustering(np.array([0, 0, 1]), np.ones(3))
    assert [one.n for one in describe_profiles(jobs, found, metrics=["duration_s"])] == [2, 1]


def test_a_profile_names_who_submits_it_and_no_size_twice() -> None:
    rng = np.random.default_rng(0)
    jobs = pd.DataFrame(
        {
            "job_id": [str(n) for n in range(80)],
            "user": ["ann"] * 50 + ["bob"] * 30,
            "request_cpu_cores": [1.0] * 40 + [64.0] * 40,
            "request_memory_gib": [4.0] * 40 + [320.0] * 40,
            "duration_s": rng.uniform(100, 200, 80),
        }
    )
    small, large = WorkloadProfiler().fit(jobs).profiles_
    assert (small.name, large.name) == (
        "short job, 1 core, 4 GiB, user ann",
        "short job, 64 cores, 320 GiB, user bob",
    )
    assert small.typical_user() == "ann (100%)"
    assert "most often by bob (75%)" in large.sentence()
