from __future__ import annotations

import hdbscan
import numpy as np
import pytest

from prophase.errors import InputError
from prophase.profile.clusters.assigner import learn_assigner

BLOBS = np.random.default_rng(0).normal(size=(400, 2)) * 0.2 + np.repeat([[0, 0], [5, 5]], 200, 0)
KINDS = np.repeat([0, 1], 200)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("members", [50, 500])
def test_known_jobs_return_to_their_profile(metric: str, members: int) -> None:
    found = learn_assigner(BLOBS, KINDS, metric=metric, members=members).assign(BLOBS)
    inside = found.labels >= 0
    assert inside.mean() > 0.97
    assert (found.labels[inside] == KINDS[inside]).all()
    assert (found.strength[inside] >= 0.5).all()


def test_a_job_far_from_every_profile_is_rejected() -> None:
    found = learn_assigner(BLOBS, KINDS).assign(np.array([[2.5, 2.5], [0.0, 0.0]]))
    assert found.labels.tolist() == [-1, 0]
    assert found.strength[0] == 0


def test_a_job_beside_a_known_outlier_is_one() -> None:
    values = np.vstack([BLOBS, [[2.5, 2.5]]])
    found = learn_assigner(values, np.append(KINDS, -1)).assign(np.array([[2.5, 2.4]]))
    assert found.labels.tolist() == [-1]


def test_without_profiles_every_job_is_an_outlier() -> None:
    found = learn_assigner(BLOBS, np.full(400, -1)).assign(BLOBS[:3])
    assert found.labels.tolist() == [-1, -1, -1]


def test_a_profile_of_equal_jobs_takes_only_their_equals() -> None:
    assigner = learn_assigner(np.ones((10, 2)), np.zeros(10, dtype=np.int64))
    assert assigner.assign(np.array([[1.0, 1.0], [1.1, 1.0]])).labels.tolist() == [0, -1]


def test_other_distances_are_refused() -> None:
    with pytest.raises(InputError, match="euclidean or manhattan"):
        learn_assigner(BLOBS, KINDS, metric="cosine")


def test_it_agrees_with_the_prediction_of_the_hdbscan_library() -> None:
    rng = np.random.default_rng(1)
    centres = rng.uniform(-10, 10, (6, 4))
    values = np.vstack([c + rng.normal(size=(150, 4)) for c in centres])
    values = np.vstack([values, rng.uniform(-12, 12, (150, 4))])
    rng.shuffle(values)
    known, new = values[:700], values[700:]
    learner = hdbscan.HDBSCAN(40, min_samples=10, prediction_data=True).fit(known)
    theirs, _ = hdbscan.approximate_predict(learner, new)
    ours = learn_assigner(known, learner.labels_).assign(new).labels
    assert (ours == theirs).mean() > 0.85
    both = (ours >= 0) & (theirs >= 0)
    assert (ours[both] == theirs[both]).mean() > 0.99
