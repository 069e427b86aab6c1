from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import ParameterError
from prophase.sizing.bins.classifiers import resample


def _rare(count: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(20 + count, 3)), np.array([0] * 20 + [1] * count)


@pytest.mark.parametrize("method", ["random", "smote"])
def test_all_bins_become_as_large_as_the_largest(method):
    seen, classes = resample(*_rare(6), method, random_state=0)
    assert np.bincount(classes).tolist() == [20, 20]
    assert len(seen) == 40


def test_random_sampling_only_repeats_what_was_there():
    held, classes = _rare(3)
    seen, _ = resample(held, classes, "random", random_state=0)
    assert {tuple(row) for row in seen} == {tuple(row) for row in held}


def test_smote_lies_between_what_was_there():
    held, classes = _rare(6)
    seen, labels = resample(held, classes, "smote", random_state=0)
    rare, made = held[classes == 1], seen[labels == 1]
    assert len({tuple(row) for row in made}) > 6
    assert (made >= rare.min(axis=0) - 1e-12).all()
    assert (made <= rare.max(axis=0) + 1e-12).all()


def test_a_bin_with_one_run_is_repeated_because_there_is_nothing_between():
    _, classes = resample(*_rare(1), "smote", random_state=0)
    assert np.bincount(classes).tolist() == [20, 20]


def test_without_sampling_or_with_a_single_class_nothing_changes():
    held, classes = _rare(4)
    assert resample(held, classes, "none", random_state=0)[0] is held
    assert resample(held, np.zeros(24, dtype=int), "smote", random_state=0)[0] is held


def test_an_unknown_method_gets_a_hint():
    with pytest.raises(ParameterError, match="Did you mean 'smote'"):
        resample(*_rare(4), "smot", random_state=0)  # type: ignore[arg-type]
