from __future__ import annotations

import numpy as np
import pytest

from prophase.phase.labelling_scores import adjusted_rand_index


def test_labels_at_random_agree_no_better_than_chance() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 3, 3000), rng.integers(0, 3, 3000)
    assert adjusted_rand_index(one, other) == pytest.approx(0.0, abs=0.01)
    assert adjusted_rand_index(one, 2 - one) == 1.0
