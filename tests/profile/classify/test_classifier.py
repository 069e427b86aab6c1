from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, MissingColumnError, ModelFileError, ParameterError
from prophase.modelfile import load_model, save_model
from prophase.profile.classify.classifier import KIND, ProfileClassifier

Labelled = tuple[pd.DataFrame, np.ndarray]


def test_a_job_gets_the_profile_of_jobs_like_it_with_a_probability_and_a_reason(
    trained: ProfileClassifier, labelled: Labelled
) -> None:
    jobs, labels = labelled
    told = trained.assign(jobs)
    inside = labels >= 0
    assert (told["profile"].to_numpy() == labels)[inside].mean() > 0.98
    assert told["probability"].between(0, 1).all()
    assert told["reason"].str.contains("seen before").all()
    assert told.index.equals(jobs.index)


def test_an_unseen_user_is_answered_by_what_else_is_known(trained: ProfileClassifier) -> None:
    new = pd.DataFrame({"user": ["zoe"], "group": ["g?"], "workload": ["ctr"], "task": ["ps"]})
    told = trained.assign(new).iloc[0]
    assert told["profile"] == 8
    assert told["seen"] == 2
    assert told["reason"] == "workload, task seen before, user, group new"


def test_a_job_none_of_whose_metadata_was_seen_is_unknown_at_any_probability(
    labelled: Labelled,
) -> None:
    made = ProfileClassifier("most-frequent", unknown_below=0.0).fit(*labelled)
    strange = pd.DataFrame({"user": ["x"], "group": [None], "workload": ["y"], "task": ["z"]})
    told = made.assign(strange).iloc[0]
    assert told["profile"] == "unknown"
    assert told["candidate"] == 3
    assert told["reason"] == "none of user, group, workload, task was seen before"


def test_below_the_line_a_job_is_unknown_and_the_candidate_is_kept(
    labelled: Labelled,
) -> None:
    made = ProfileClassifier("most-frequent", unknown_below=0.9).fit(*labelled)
    told = made.assign(labelled[0][:1]).iloc[0]
    assert (told["profile"], told["candidate"]) == ("unknown", 3)
    assert told["reason"].endswith("too unsure to name one")


def test_labels_may_be_a_column_which_is_then_not_metadata(labelled: Labelled) -> None:
    jobs, _ = labelled
    made = ProfileClassifier("rules").fit(jobs, "workload")
    assert made.classes_ == ("bert", "ctr", "gnn")
    assert "workload" not in made.columns_
    with pytest.raises(MissingColumnError, match="no column 'wrkload'"):
        ProfileClassifier("rules").fit(jobs, "wrkload")


def test_one_profile_only_is_learned_and_said(labelled: Labelled) -> None:
    jobs, _ = labelled
    made = ProfileClassifier().fit(jobs, [7] * len(jobs))
    assert set(made.predict(jobs)) == {7}
    assert "There is one profile only, 7: every job gets it." in made.notes_


@pytest.mark.parametrize(
    ("labels", "said"), [([-1] * 240, "every job is an outlier"), ([None] * 240, "no job has a")]
)
def test_only_outliers_or_no_labels_are_refused(
    labels: list, said: str, labelled: Labelled
) -> None:
    with pytest.raises(InputError, match=said):
        ProfileClassifier().fit(labelled[0], labels)


def test_an_empty_history_and_odd_settings_are_refused(labelled: Labelled) -> None:
    jobs, labels = labelled
    with pytest.raises(InputError, match="history is empty"):
        ProfileClassifier().fit(jobs[:0], [])
    with pytest.raises(ParameterError, match="unknown_below is 90"):
        ProfileClassifier(unknown_below=90).fit(jobs, labels)
    with pytest.raises(ParameterError, match="is not fitted yet"):
        ProfileClassifier().assign(jobs)


def test_jobs_of_another_schema_are_refused_unless_a_part_is_allowed(
    trained: ProfileClassifier,
) -> None:
    other = pd.DataFrame({"user": ["ann"], "queue": ["gpu"]})
    with pytest.raises(MissingColumnError, match="the jobs lack group, workload, task"):
        trained.assign(other)
    assert trained.assign(other, partial=True)["seen"].tolist() == [1]
    with pytest.raises(MissingColumnError, match="trained with user, group, workload, task"):
        trained.assign(other[["queue"]], partial=True)


@pytest.mark.parametrize("method", ["xgboost", "rules", "embedding"])
def test_a_saved_classifier_answers_the_same(
    method: str, labelled: Labelled, tmp_path: Path
) -> None:
    made = ProfileClassifier(method, unknown_below=0.4).fit(*labelled)
    made.save(tmp_path / "kind.model")
    again = ProfileClassifier.load(tmp_path / "kind.model")
    pd.testing.assert_frame_equal(again.assign(labelled[0]), made.assign(labelled[0]))
    assert again.size_ == made.size_
    assert again.threshold_ == made.threshold_
    assert made.save(tmp_path / "twice.model") == again.save(tmp_path / "again.model")


def test_files_of_another_kind_or_with_parts_missing_are_refused(
    trained: ProfileClassifier, tmp_path: Path
) -> None:
    save_model(tmp_path / "other.model", kind="profile.clusters")
    with pytest.raises(ModelFileError, match=r"kind 'profile\.clusters'"):
        ProfileClassifier.load(tmp_path / "other.model")
    trained.save(tmp_path / "kind.model")
    held = load_model(tmp_path / "kind.model")
    meta = {key: value for key, value in held.meta.items() if key != "classes"}
    save_model(tmp_path / "less.model", kind=KIND, meta=meta, columns=held.columns)
    with pytest.raises(ModelFileError, match=r"less.model: lacks a part .*classes"):
        ProfileClassifier.load(tmp_path / "less.model")
    future = {**held.meta, "method": "oracle"}
    save_model(tmp_path / "new.model", kind=KIND, meta=future, columns=held.columns)
    with pytest.raises(ModelFileError, match="there is no classifier 'oracle'"):
        ProfileClassifier.load(tmp_path / "new.model")


def test_what_is_known_only_afterwards_changes_no_answer(
    trained: ProfileClassifier, labelled: Labelled
) -> None:
    jobs, _ = labelled
    forged = jobs.assign(duration_s=1e9, end_s=0.0, after_secret="x")
    pd.testing.assert_frame_equal(trained.assign(forged), trained.assign(jobs))
