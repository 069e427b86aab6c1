from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import ParameterError
from prophase.phase.augmentation import compressed, duplicated, padded, side_by_side, stretched

VALUES = np.random.default_rng(0).normal(size=(12, 2))


def test_lengths_and_means_are_those_that_are_asked_for() -> None:
    assert len(duplicated(VALUES, 3)) == len(stretched(VALUES, 3)) == 36
    assert len(compressed(VALUES, 4)) == 3
    for changed in (duplicated(VALUES), stretched(VALUES), compressed(VALUES, 4)):
        assert changed.mean(axis=0) == pytest.approx(VALUES.mean(axis=0))


def test_noise_moves_compressed_values_and_keeps_their_number() -> None:
    noisy = compressed(VALUES, 4, noise=0.5, random_state=1)
    assert noisy.shape == (3, 2)
    assert not np.allclose(noisy, compressed(VALUES, 4))


def test_padding_leaves_longer_series_as_they_are() -> None:
    assert padded(VALUES, 5) is not VALUES
    assert padded(VALUES, 5).tolist() == VALUES.tolist()
    assert padded(VALUES, 15)[12:].tolist() == [[0, 0]] * 3
    assert side_by_side(VALUES, VALUES[:3]).shape == (12, 4)


def test_rates_below_one_are_refused() -> None:
    with pytest.raises(ParameterError):
        stretched(VALUES, 0)
