from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ModelFileError, ParameterError
from prophase.modelfile import Parts
from prophase.profile.classify.metadata_words import Words, words_of
from prophase.profile.classify.methods import METHODS, method_named
from prophase.profile.classify.methods.majority_rules import MajorityRules
from prophase.profile.classify.methods.nearest_neighbour import Nearest

COLUMNS = ["user", "group", "workload", "task"]


def learnt(name: str, labelled: tuple[pd.DataFrame, np.ndarray]):  # type: ignore[no-untyped-def]
    jobs, labels = labelled
    inside = labels >= 0
    codes = np.unique(labels[inside], return_inverse=True)[1]
    words = words_of(jobs[inside], COLUMNS)
    return method_named(name).learn(words, codes, 3), words, codes


@pytest.mark.parametrize("name", METHODS)
def test_every_method_gives_probabilities_and_survives_a_file(
    name: str, labelled: tuple[pd.DataFrame, np.ndarray]
) -> None:
    method, words, codes = learnt(name, labelled)
    found = method.probabilities(words)
    assert found.shape == (len(words), 3)
    assert np.allclose(found.sum(axis=1), 1.0, atol=1e-5)
    accuracy = (found.argmax(axis=1) == codes).mean()
    assert (
        accuracy == pytest.approx(codes.tolist().count(0) / len(codes))
        if (name == "most-frequent")
        else accuracy > 0.98
    )
    again = method_named(name).restored(method.parts())
    assert np.array_equal(again.probabilities(words), found)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_answers_for_jobs_without_a_known_word(
    name: str, labelled: tuple[pd.DataFrame, np.ndarray]
) -> None:
    method, _, _ = learnt(name, labelled)
    strange = Words(tuple(COLUMNS), np.array([["x", "x", "x", "x"], [None] * 4], dtype=object))
    found = method.probabilities(strange)
    assert np.isfinite(found).all()
    assert np.allclose(found[0], found[1])
    assert method.probabilities(strange.rows(np.arange(0))).shape == (0, 3)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_takes_a_single_profile(name: str) -> None:
    words = Words(("user",), np.array([["ann"], ["bob"]] * 5, dtype=object))
    method = method_named(name).learn(words, np.zeros(10, dtype=np.int64), 1)
    assert method.probabilities(words).tolist() == [[1.0]] * 10
    assert method_named(name).restored(method.parts()).probabilities(words).shape == (10, 1)


def test_rules_follow_the_majority_of_the_finest_key() -> None:
    rows = [["ann", "g1"]] * 3 + [["ann", "g2"]] * 5 + [["bob", "g3"]]
    codes = np.array([0, 0, 1, 1, 1, 1, 1, 1, 0])
    rules = MajorityRules().learn(Words(("user", "group"), np.array(rows, dtype=object)), codes, 2)
    strange = [["ann", "g1"], ["ann", "new"], ["eve", "new"]]
    asked = Words(("user", "group"), np.array(strange, dtype=object))
    # the group's majority, then the user's, then that of all
    assert rules.probabilities(asked).argmax(axis=1).tolist() == [0, 1, 1]


def test_the_nearest_jobs_are_those_that_share_rare_words() -> None:
    rows = [["all", "rare"]] + [["all", f"w{n}"] for n in range(9)]
    codes = np.array([1] + [0] * 9)
    nearest = Nearest().learn(Words(("user", "group"), np.array(rows, dtype=object)), codes, 2)
    asked = Words(("user", "group"), np.array([["x", "rare"], ["all", "x"]], dtype=object))
    assert nearest.probabilities(asked).argmax(axis=1).tolist() == [1, 0]


def test_an_unknown_method_is_named_with_those_there_are() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'xgboost'"):
        method_named("xgbost")


def test_trees_that_cannot_be_read_are_refused(
    labelled: tuple[pd.DataFrame, np.ndarray],
) -> None:
    method, _, _ = learnt("xgboost", labelled)
    parts = method.parts()
    broken = Parts(parts.meta, parts.arrays, {"booster.ubj": b"{L\x00\x00nonsense"})
    with pytest.raises(ModelFileError, match="trees in the file cannot be read"):
        _ = method_named("xgboost").restored(broken).booster  # type: ignore[attr-defined]


def test_trees_of_a_file_that_lead_nowhere_are_refused(
    labelled: tuple[pd.DataFrame, np.ndarray],
) -> None:
    method, _, _ = learnt("xgboost", labelled)
    parts = method.parts()
    away = {**parts.arrays, "walk_left": parts.arrays["walk_left"] + 10**6}
    with pytest.raises(ModelFileError, match="trees in the file lead nowhere"):
        method_named("xgboost").restored(Parts(parts.meta, away, parts.blobs))


@pytest.mark.parametrize("name", ["xgboost", "target-encoded", "embedding"])
def test_few_jobs_are_answered_by_the_same_trees_as_many(
    name: str, labelled: tuple[pd.DataFrame, np.ndarray]
) -> None:
    method, words, _ = learnt(name, labelled)
    many = words.rows(np.resize(np.arange(min(len(words), 20)), 100))
    few = words.rows(np.arange(min(len(words), 20)))
    expected = method.probabilities(many)[: len(few)]
    restored = method_named(name).restored(method.parts())
    assert np.allclose(restored.probabilities(few), expected, atol=1e-5)
