"""All models of a workspace from one call."""

from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import InputError
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.clusters.default_profiles import ended_jobs
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.predict.job_model import JobModel
from prophase.sizing.recommender import Recommender
from prophase.study import learn_models
from prophase.trace.synth.pai import make_pai
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import CLASSIFIER, PREDICTIONS, PROFILES, REQUESTS


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that has learnt without profiles, and again with them."""
    folder = tmp_path_factory.mktemp("taught") / "ws"
    made = make_pai(300, days=2.0, random_state=0)
    workspace = Workspace.create(folder)
    workspace.store_frames(made.tables, source="synth", source_hash=made.data_hash, seed=0)
    first = learn_models(folder, ["duration_s"], method="backoff-median")
    assert not first.profiles
    assert not (folder / CLASSIFIER).exists()
    jobs = ended_jobs(workspace.read("jobs")).jobs
    WorkloadProfiler(random_state=0).fit(jobs).save(folder / PROFILES)
    again = learn_models(folder, ["duration_s"], method="backoff-median", seed=3)
    assert again.profiles
    assert again.requests
    assert again.to_dict()["seed"] == 3
    assert again.to_dict()["data_hash"] == made.data_hash
    return folder


def test_every_model_is_of_the_same_jobs(taught: Path) -> None:
    data_hash = Workspace(taught).tables["jobs"].source_hash
    assert JobModel.load(taught / PREDICTIONS).data_hash == data_hash
    assert Recommender.load(taught / REQUESTS).data_hash == data_hash


def test_profiles_are_told_by_the_names_that_the_workspace_has(taught: Path) -> None:
    known = {one.profile for one in WorkloadProfiler.load(taught / PROFILES).profiles_}
    assert set(ProfileClassifier.load(taught / CLASSIFIER).classes_) <= known


def test_an_empty_workspace_is_refused_with_what_to_do(tmp_path: Path) -> None:
    Workspace.create(tmp_path / "ws")
    with pytest.raises(InputError, match="prophase import"):
        learn_models(tmp_path / "ws")
