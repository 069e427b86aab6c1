from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase.sim.measures.capacity import bin_means

intervals = st.lists(
    st.tuples(st.floats(-50, 150), st.floats(0, 100), st.floats(0, 9), st.integers(0, 2)),
    max_size=20,
)


@given(intervals, st.integers(1, 7))
def test_bins_hold_what_overlaps_them(rows, bins):
    start, length, weight, group = (
        (np.array(c, float) for c in zip(*rows, strict=True)) if rows else [np.zeros(0)] * 4
    )
    edges = np.linspace(0.0, 100.0, bins + 1)
    found = bin_means(start, start + length, weight, edges, group.astype(np.int64), 3)
    for kind in range(3):
        for place, (low, high) in enumerate(pairwise(edges)):
            overlap = np.clip(np.minimum(start + length, high) - np.maximum(start, low), 0, None)
            expected = (overlap * weight)[group == kind].sum() / (high - low)
            assert found[kind, place] == pytest.approx(expected, abs=1e-9)


def test_an_interval_without_end_lasts_to_the_last_edge():
    found = bin_means(
        np.array([-np.inf]), np.array([np.inf]), np.ones(1), np.array([0.0, 1.0, 2.0])
    )
    assert found.tolist() == [[1.0, 1.0]]
