from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import ModelFileError, ParameterError
from prophase.modelfile import Parts
from prophase.sizing.bins.binning import Binning
from prophase.sizing.bins.classifier_catalogue import CLASSIFIERS, classifier_named
from prophase.sizing.bins.classifiers import BoostedTrees, Runs, SupportVectors

BINS = {2: (4.0, 60.0), 3: (2.0, 6.0, 60.0), 4: (1.0, 3.0, 8.0, 60.0)}


def _data(bins: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Runs]:
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(200, 4))
    peak = np.minimum(np.exp(1 + seen[:, 0] + 0.5 * seen[:, 1]), 59.0)
    runs = Runs(peak, Binning(BINS[bins]))
    return seen, runs.binning.classes(peak), runs


@pytest.mark.parametrize("bins", [2, 3, 4])
def test_our_reading_of_support_vectors_answers_as_the_library_does(bins):
    from sklearn.svm import SVC

    seen, classes, runs = _data(bins)
    mine = SupportVectors({"C": 10.0, "gamma": 0.1}).fit(seen, classes, runs)
    theirs = SVC(C=10.0, gamma=0.1).fit(seen, classes)
    fresh = np.random.default_rng(9).normal(size=(500, 4))
    np.testing.assert_array_equal(mine.predict(fresh), theirs.predict(fresh))


@pytest.mark.parametrize("name", list(CLASSIFIERS))
@pytest.mark.parametrize("bins", [2, 4])
def test_every_classifier_learns_and_comes_back_from_its_parts(name, bins):
    seen, classes, runs = _data(bins)
    made = classifier_named(name)({}, random_state=0).fit(seen, classes, runs)
    found = made.predict(seen)
    assert (found == classes).mean() > 0.7
    again = classifier_named(name)({}).restore(made.parts())
    np.testing.assert_array_equal(again.predict(seen), found)


@pytest.mark.parametrize("name", ["svm", "xgboost"])
def test_with_a_single_class_every_answer_is_that_one(name):
    seen, _, _ = _data(2)
    made = classifier_named(name)({}).fit(seen, np.ones(len(seen), dtype=int))
    assert set(made.predict(seen).tolist()) == {1}
    again = classifier_named(name)({}).restore(made.parts())
    assert set(again.predict(seen).tolist()) == {1}


def test_balance_makes_rare_bins_weigh_more():
    rng = np.random.default_rng(1)
    seen = np.concatenate([rng.normal(0, 1, (190, 2)), rng.normal(1.0, 1, (10, 2))])
    classes = np.array([0] * 190 + [1] * 10)
    plain, weighted = (
        SupportVectors({"C": 1.0, "balance": b}).fit(seen, classes).predict(seen).sum()
        for b in (0.0, 1.0)
    )
    assert weighted > plain


def test_broken_trees_are_refused():
    with pytest.raises(ModelFileError, match="cannot be read"):
        BoostedTrees({}).restore(Parts({"known": [0, 1]}, {}, {"booster.ubj": b"nonsense"}))


def test_an_unknown_classifier_gets_a_hint():
    with pytest.raises(ParameterError, match="Did you mean 'xgboost'"):
        classifier_named("xgbost")
