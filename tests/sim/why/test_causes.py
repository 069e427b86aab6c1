from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prophase.sim.kernels import wait_causes as reasons
from prophase.sim.why.causes import CAUSES, by_cause, whole_percent


def test_every_code_of_the_sweep_belongs_to_exactly_one_cause():
    codes = sorted(code for cause in CAUSES for code, _ in cause.fine)
    assert codes == list(range(reasons.CAUSES))
    assert by_cause(np.ones((3, reasons.CAUSES))).sum(axis=1).tolist() == [reasons.CAUSES] * 3


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=7).filter(lambda parts: sum(parts) > 0))
def test_rounded_shares_add_up_to_exactly_a_hundred(parts):
    shares = whole_percent(np.array(parts), digits=2)
    assert round(sum(round(100 * share) for share in shares)) == 10_000
    assert (shares >= 0).all()
