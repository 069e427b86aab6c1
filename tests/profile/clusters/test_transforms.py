from __future__ import annotations

import numpy as np
import pytest
from sklearn import preprocessing

from prophase.errors import ParameterError
from prophase.profile.clusters.transforms import (
    ALIASES,
    PAPER_TRANSFORMS,
    TRANSFORMS,
    fit_transform,
    transform_histograms,
)
from prophase.profile.clusters.usage_metrics import UsageFeatures

SKEWED = np.column_stack(
    [
        np.random.default_rng(0).lognormal(3, 1.5, 300),
        np.random.default_rng(1).normal(-5, 2, 300),
        np.zeros(300),
    ]
)
TWINS = {
    "standard": preprocessing.StandardScaler(),
    "minmax": preprocessing.MinMaxScaler(),
    "robust": preprocessing.RobustScaler(),
    "power": preprocessing.PowerTransformer(),
    "maxabs": preprocessing.MaxAbsScaler(),
    "l1": preprocessing.Normalizer("l1"),
    "l2": preprocessing.Normalizer("l2"),
    "max": preprocessing.Normalizer("max"),
}


@pytest.mark.parametrize("name", TWINS)
def test_every_transform_does_what_scikit_learn_does(name: str) -> None:
    varying = SKEWED[:, :2]
    ours = fit_transform(name, varying)(varying)
    assert ours == pytest.approx(TWINS[name].fit_transform(varying), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_survives_a_constant_column(name: str) -> None:
    assert np.isfinite(fit_transform(name, SKEWED)(SKEWED)).all()


def test_softmax_rows_add_up_to_one() -> None:
    assert fit_transform("softmax", SKEWED)(SKEWED).sum(axis=1) == pytest.approx(1.0)


def test_the_words_of_the_published_files_are_understood() -> None:
    assert {ALIASES[word] for word in list(ALIASES)[:4]} == set(PAPER_TRANSFORMS)
    assert fit_transform("yeo-johnson", SKEWED).name == "power"


def test_an_unknown_transform_is_refused() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'minmax'"):
        fit_transform("minmx", SKEWED)


def test_histograms_before_and_after_count_every_job() -> None:
    features = UsageFeatures(("a", "b", "c"), SKEWED, {}, ())
    table = transform_histograms(features, fit_transform("power", SKEWED), bins=7)
    assert len(table) == 3 * 2 * 7
    assert (table.groupby(["metric", "when"])["jobs"].sum() == 300).all()
