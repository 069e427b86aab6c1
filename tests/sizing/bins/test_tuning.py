from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sizing.bins.binning import Binning
from prophase.sizing.bins.tuning import (
    folds,
    refuse_unsplittable,
    scenarios_of,
    split_runs,
)


@pytest.fixture
def classes() -> np.ndarray:
    return np.random.default_rng(0).permutation([0] * 400 + [1] * 80 + [2] * 15)


def test_a_split_holds_a_fifth_of_every_bin(classes):
    split = split_runs(classes, random_state=0)
    assert np.bincount(classes[split.test]).tolist() == [80, 16, 3]
    assert sorted([*split.train, *split.test]) == list(range(len(classes)))


def test_folds_judge_every_run_once(classes):
    parts = folds(classes, count=4, random_state=1)
    assert sorted(np.concatenate([part.test for part in parts])) == list(range(len(classes)))


def test_no_scenario_is_on_both_sides_and_rare_bins_are_spread(classes):
    groups = np.arange(len(classes)) // 5
    parts = folds(classes, groups, count=5, random_state=0)
    for part in parts:
        assert not set(groups[part.train]) & set(groups[part.test])
        assert (classes[part.test] == 2).sum() in (2, 3, 4)


def test_another_seed_gives_another_split(classes):
    one, other = (split_runs(classes, random_state=seed).test.tolist() for seed in (0, 1))
    assert one != other


def test_a_single_class_is_refused_with_what_to_ask_for():
    with pytest.raises(InputError, match="Ask for 10 GiB always"):
        refuse_unsplittable(np.zeros(9, dtype=int), Binning((10.0, 60.0)))


def test_bins_with_too_few_runs_are_named():
    with pytest.raises(InputError, match=r"60 GiB \(1\)"):
        refuse_unsplittable(np.array([0] * 9 + [1]), Binning((10.0, 60.0)), fewest=5)


def test_runs_without_a_group_are_scenarios_of_their_own():
    jobs = pd.DataFrame({"group": ["a", "a", None, "b", None]})
    assert len(set(scenarios_of(jobs).tolist())) == 4
    assert scenarios_of(pd.DataFrame({"x": [1, 2]})).tolist() == [0, 1]
