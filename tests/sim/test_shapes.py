from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prophase.sim.shapes import distinct_rows


@given(
    arrays(np.int64, st.tuples(st.integers(0, 30), st.integers(1, 4)), elements=st.integers(-3, 3))
)
def test_shapes_are_the_distinct_rows_and_each_row_finds_its_own(rows):
    shapes, shape_of = distinct_rows(rows)
    np.testing.assert_array_equal(shapes[shape_of], rows)
    assert len(shapes) == len(np.unique(rows, axis=0))
