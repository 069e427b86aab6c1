from __future__ import annotations

import numpy as np
import pytest

from prophase.profile.drift.live_profiles import Sketch

SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@pytest.mark.parametrize("heavy", [0.5, 2.0])
def test_mean_and_quantiles_are_within_one_percent_of_all_values(heavy: float) -> None:
    values = np.exp(np.random.default_rng(0).normal(6.0, heavy, 40_000))
    sketch = Sketch()
    for part in np.array_split(values, 800):
        sketch.add(part)
    assert len(sketch.values) <= 3_000
    assert sketch.mean == pytest.approx(values.mean(), rel=1e-9)
    assert sketch.std == pytest.approx(values.std(ddof=1), rel=1e-9)
    for share in SHARES:
        assert sketch.quantile(share) == pytest.approx(np.quantile(values, share), rel=0.01)


def test_few_values_are_kept_exactly() -> None:
    sketch = Sketch()
    sketch.add(np.array([3.0, 1.0, 2.0]))
    sketch.add(np.empty(0))
    assert sketch.quantile(0.5) == 2.0
    assert sketch.below(np.array([2.5])).tolist() == [2.0]
