from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.profile.classify import explanation as explaining
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.classify.explanation import (
    decision_tree,
    importance,
    shap_of_job,
    shap_summary,
)

Labelled = tuple[pd.DataFrame, np.ndarray]


def test_importance_lists_the_values_that_tell_profiles_apart(
    trained: ProfileClassifier,
) -> None:
    found = importance(trained, 3)
    assert len(found) == 3
    assert set(found["column"]) <= {"user", "workload", "task"}
    assert found["total_gain_pct"].is_monotonic_decreasing
    assert importance(trained, 1_000)["total_gain_pct"].sum() == pytest.approx(100)


def test_pushes_of_one_job_add_up_to_its_probability(
    trained: ProfileClassifier, labelled: Labelled
) -> None:
    job = labelled[0][:1]
    scores = [
        found.base + found.pushes["push"].sum()
        for found in (shap_of_job(trained, job, one) for one in trained.classes_)
    ]
    shares = np.exp(scores) / np.exp(scores).sum()
    assert shares == pytest.approx(trained.predict_proba(job)[0], rel=1e-4)


def test_a_job_is_explained_by_its_own_metadata_in_words(trained: ProfileClassifier) -> None:
    job = pd.DataFrame({"user": ["zoe"], "group": [None], "workload": ["ctr"], "task": ["ps"]})
    found = shap_of_job(trained, job)
    assert found.profile == 8
    said = found.sentences()
    assert said[0].startswith(
        ("workload=ctr pushes towards profile 8 by", "task=ps pushes towards")
    )
    assert any("user=zoe (never seen before)" in line for line in said)
    assert any(line.startswith("no group pushes") for line in said)
    away = shap_of_job(trained, job, "3")
    assert away.pushes["push"].iloc[0] < 0


def test_the_summary_is_the_same_in_batches_of_any_size(
    trained: ProfileClassifier, labelled: Labelled, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, _ = labelled
    whole = shap_summary(trained, jobs, top=5)
    monkeypatch.setattr(explaining, "_MOST_VALUES", 1)
    parts = shap_summary(trained, jobs, top=5)
    pd.testing.assert_frame_equal(parts.words, whole.words)
    assert whole.jobs == 240
    assert whole.per_profile.shape == (5, 3)
    assert whole.columns["column"].iloc[0] == "workload"
    assert shap_summary(trained, jobs, rows=10).jobs == 10


def test_a_tree_is_described_by_the_words_it_asks_for(trained: ProfileClassifier) -> None:
    text = "\n".join(decision_tree(trained, 8).lines())
    assert text.splitlines()[0].endswith("?")
    assert "  yes: +" in text
    assert "  no:  -" in text
    with pytest.raises(ParameterError, match="there are 100 per profile"):
        decision_tree(trained, 8, 100)
    with pytest.raises(ParameterError, match=r"no profile 4. There are: 3, 8, 9"):
        decision_tree(trained, 4)


def test_what_cannot_be_explained_says_why(trained: ProfileClassifier, labelled: Labelled) -> None:
    jobs, labels = labelled
    with pytest.raises(ParameterError, match="this one is rules"):
        importance(ProfileClassifier("rules", unknown_below=0.5).fit(jobs, labels))
    with pytest.raises(ParameterError, match="one profile only, 7"):
        importance(ProfileClassifier().fit(jobs, [7] * len(jobs)))
    with pytest.raises(ParameterError, match="one job is explained at a time"):
        shap_of_job(trained, jobs[:2])
    with pytest.raises(InputError, match="no job to explain"):
        shap_summary(trained, jobs[:0])
