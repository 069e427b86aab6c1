from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import classification_report, confusion_matrix

from prophase.profile.classify.classifier_comparison import score


def test_scores_are_those_of_scikit_learn() -> None:
    draw = np.random.default_rng(0)
    truth = draw.integers(0, 5, 300)
    answer = np.where(draw.random(300) < 0.6, truth, draw.integers(0, 4, 300))
    found = score(truth, answer, ("a", "b", "c", "d", "e"), np.arange(5))
    expected = classification_report(truth, answer, output_dict=True, zero_division=0)
    assert found.accuracy == pytest.approx(expected["accuracy"])
    assert found.macro_f1 == pytest.approx(expected["macro avg"]["f1-score"])
    assert found.weighted_f1 == pytest.approx(expected["weighted avg"]["f1-score"])
    for number, row in found.per_class.iterrows():
        assert row["precision"] == pytest.approx(expected[str(number)]["precision"])
        assert row["recall"] == pytest.approx(expected[str(number)]["recall"])
    assert found.confusion.to_numpy().tolist() == confusion_matrix(truth, answer).tolist()


def test_profiles_that_no_answer_names_and_that_were_never_learned_are_named() -> None:
    found = score(np.array([0, 1, 2]), np.array([0, 0, 0]), (4, 6, 7), np.array([0, 1]))
    assert found.never_predicted == (6, 7)
    assert found.never_learnt == (7,)


def test_a_profile_without_a_job_on_either_side_does_not_count() -> None:
    found = score(np.array([0, 0]), np.array([0, 0]), (1, 2), np.array([0, 1]))
    assert found.macro_f1 == 1.0
    assert found.per_class["profile"].tolist() == [1]
