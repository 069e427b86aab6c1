"""The profiles that reports and models share."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.profile.clusters import default_profiles as usual
from prophase.profile.clusters.default_profiles import default_profiles, kept_profiles
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.trace.synth.pai import make_pai


@pytest.fixture(scope="module")
def jobs() -> pd.DataFrame:
    return make_pai(2_500, days=2.0, random_state=1).tables["jobs"]


@pytest.fixture(scope="module")
def learnt(jobs: pd.DataFrame) -> WorkloadProfiler:
    return default_profiles(jobs, random_state=1)


def test_each_profile_stands_for_one_job_in_a_hundred_or_more(learnt: WorkloadProfiler) -> None:
    kinds = [one for one in learnt.profiles_ if not one.outliers]
    assert kinds
    assert min(one.share for one in kinds) >= 0.0099


def test_only_jobs_that_completed_are_learned_from(
    jobs: pd.DataFrame, learnt: WorkloadProfiler
) -> None:
    status = jobs.set_index(jobs["job_id"].astype(str)).loc[list(learnt.job_ids_), "status"]
    assert set(status) == {"completed"}


def test_jobs_that_all_failed_are_learned_from_too(
    jobs: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usual, "_SAMPLED", 300)
    assert default_profiles(jobs.assign(status="failed")).statistics_["n_jobs"] == 300


def test_profiles_are_taken_from_a_file_only_if_they_are_of_these_jobs(
    jobs: pd.DataFrame, learnt: WorkloadProfiler, tmp_path: Path
) -> None:
    path = tmp_path / "profiles.model"
    assert kept_profiles(path, jobs) is None
    learnt.save(path)
    taken = kept_profiles(path, jobs)
    assert taken is not None
    assert (taken.labels_ == learnt.labels_).all()
    others = {
        "fewer jobs": jobs.head(1_000),
        "other use": jobs.assign(cpu_mean_cores=jobs["cpu_mean_cores"] + 1),
        "no use": jobs.drop(columns="cpu_mean_cores"),
        "the same job twice": pd.concat([jobs, jobs.head(1)]),
    }
    assert [name for name, table in others.items() if kept_profiles(path, table)] == []
    path.write_bytes(path.read_bytes()[:1_000])
    assert kept_profiles(path, jobs) is None, "a damaged file is as good as none"
