from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prophase.sim import signatures as s
from prophase.sim.kernels.request_shapes import distinct_rows, shapes_of


@given(
    arrays(np.int64, st.tuples(st.integers(0, 30), st.integers(1, 4)), elements=st.integers(-3, 3))
)
def test_shapes_are_the_distinct_rows_and_each_row_finds_its_own(rows):
    shapes, shape_of = distinct_rows(rows)
    np.testing.assert_array_equal(shapes[shape_of], rows)
    assert len(shapes) == len(np.unique(rows, axis=0))


def test_many_different_rows_outgrow_the_first_table():
    rows = np.random.default_rng(1).integers(0, 1 << 40, (30_000, 3))
    rows = np.concatenate([rows, rows[::-1]])
    shapes, shape_of = distinct_rows(rows)
    assert len(shapes) == 30_000
    np.testing.assert_array_equal(shapes[shape_of], rows)


def test_shapes_are_sorted_by_what_they_ask_for_and_know_what_they_hold():
    asks = np.zeros((3, s.ASK_COLUMNS), np.int64)
    asks[:, s.ASK_GPUS], asks[:, s.ASK_MILLI] = [2, 1, 2], [1000, 500, 1000]
    shapes, shape_of = shapes_of(asks)
    assert shapes[:, s.ASK_GPUS].tolist() == [1, 2]
    assert shape_of.tolist() == [1, 0, 1]
    assert shapes[:, s.ASK_HELD].tolist() == [1, 1 << 22]
