from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prophase.errors import InputError, ParameterError
from prophase.profile.clusters.clusterability import hopkins


def slow_hopkins(values: Any, points: int, seed: int) -> float:
    """One repeat with every distance written out."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(values), points, replace=False)
    anywhere = rng.uniform(values.min(axis=0), values.max(axis=0), (points, values.shape[1]))
    real = sum(
        min(np.linalg.norm(values[r] - values[o]) for o in range(len(values)) if o != r)
        for r in rows
    )
    random = sum(min(np.linalg.norm(point - other) for other in values) for point in anywhere)
    return float(real / (real + random))


@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_its_slow_twin(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(60, 3)) ** 3
    found = hopkins(values, points=15, repeats=1, random_state=seed)
    assert found.statistic == pytest.approx(slow_hopkins(values, 15, seed))


def test_blobs_are_clustered_and_noise_is_random() -> None:
    rng = np.random.default_rng(0)
    blobs = rng.normal(0, 0.02, (1000, 4)) + rng.integers(0, 2, (1000, 4)) * 5
    noise = rng.uniform(size=(1000, 4))
    assert hopkins(blobs).statistic < 0.1
    assert hopkins(blobs).clustered
    assert hopkins(noise).statistic == pytest.approx(0.5, abs=0.05)
    assert not hopkins(noise).clustered


def test_the_same_seed_gives_the_same_statistic_and_repeats_show_a_spread() -> None:
    values = np.random.default_rng(0).normal(size=(300, 2))
    assert hopkins(values, random_state=3) == hopkins(values, random_state=3)
    assert hopkins(values).spread > 0


def test_equal_rows_are_as_clustered_as_can_be() -> None:
    assert hopkins(np.ones((20, 2))).statistic == 0.0


def test_too_few_rows_and_too_many_points_are_refused() -> None:
    with pytest.raises(InputError, match="3 rows or more"):
        hopkins(np.ones((2, 2)))
    with pytest.raises(ParameterError, match="1 to 10 points"):
        hopkins(np.ones((10, 2)), points=11)
