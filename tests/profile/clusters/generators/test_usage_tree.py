from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from tests.profile.clusters.conftest import jobs_of_three_kinds

from prophase.errors import InputError, ParameterError
from prophase.profile.clusters.generators.usage_tree import UsageTree
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.trace.synth.pai import make_pai


@pytest.fixture(scope="module")
def made() -> pd.DataFrame:
    jobs = make_pai(3_000, days=7.0, random_state=0).tables["jobs"]
    return jobs[jobs["duration_s"].notna()].reset_index(drop=True)


@pytest.fixture(scope="module")
def found(made: pd.DataFrame) -> WorkloadProfiler:
    return WorkloadProfiler().fit(made)


def test_few_profiles_with_names_cover_every_job(
    made: pd.DataFrame, found: WorkloadProfiler
) -> None:
    assert 5 <= len(found.profiles_) <= 16
    assert not any(one.outliers for one in found.profiles_)
    names = [one.name for one in found.profiles_]
    assert len(set(names)) == len(names)
    assert not any(name.isdigit() for name in names)
    assert min(one.n for one in found.profiles_) >= 0.01 * len(made)


@pytest.mark.parametrize("seed", range(3))
def test_a_tenth_more_jobs_and_another_seed_leave_the_groups_as_they_are(
    made: pd.DataFrame, found: WorkloadProfiler, seed: int
) -> None:
    whole = found.labels_
    kept = np.sort(np.random.default_rng(seed).permutation(len(made))[: int(len(made) / 1.1)])
    part = WorkloadProfiler(random_state=seed).fit(made.iloc[kept].reset_index(drop=True))
    assert adjusted_rand_score(whole[kept], part.labels_) > 0.9


def test_kinds_that_differ_in_what_they_use_are_told_apart() -> None:
    jobs = jobs_of_three_kinds(strays=0)
    found = WorkloadProfiler().fit(jobs)
    assert adjusted_rand_score(jobs["kind"], found.labels_) > 0.95
    assert any("workload bert" in one.name for one in found.profiles_)


def test_jobs_that_are_all_alike_are_one_profile() -> None:
    jobs = pd.DataFrame({"job_id": range(40), "memory_peak_gib": 4.0, "duration_s": 60.0})
    assert [one.n for one in WorkloadProfiler().fit(jobs).profiles_] == [40]


def test_bad_settings_are_refused_with_what_to_do(made: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match="one profile or more"):
        WorkloadProfiler(UsageTree(clusters=0)).fit(made)
    with pytest.raises(InputError, match="longer history"):
        WorkloadProfiler().fit(made.head(5))
    with pytest.raises(ParameterError, match="generator_named"):
        WorkloadProfiler("hdbscan").fit(made)  # type: ignore[arg-type]
