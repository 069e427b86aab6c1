from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from prophase.errors import ParameterError
from prophase.stats import batch_means, from_replications


def test_replications_give_the_t_interval():
    values = np.array([3.0, 5.0, 4.0, 9.0])
    found = from_replications(values)
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high))


def test_batches_leave_out_what_fills_none_at_the_start():
    found = batch_means(np.append([1e6], np.tile([1.0, 2.0, 3.0], 20)), batches=10)
    assert (found.value, found.n, found.blocks) == (2.0, 60, 10)
    assert found.method == "batch means after a warm-up of 1"


def test_missing_values_are_refused():
    with pytest.raises(ParameterError, match="missing or infinite"):
        from_replications([1.0, np.nan])
