from __future__ import annotations

import math

import pytest

from prophase.stats import Estimate, monthly

DAY_S = 86_400.0


def test_a_month_says_which_history_it_comes_from():
    found = monthly(Estimate(100.0, 80.0, 120.0, blocks=10, method="jackknife"), 10 * DAY_S)
    assert (found.value, found.low, found.high) == pytest.approx((304.375, 243.5, 365.25))
    assert found.method == "jackknife, extrapolated from 10 days"


@pytest.mark.parametrize("days", [0.0, 0.1, 6.99, math.nan])
def test_less_than_a_week_is_not_extrapolated(days):
    found = monthly(Estimate(100.0, 80.0, 120.0), days * DAY_S)
    assert math.isnan(found.value)
    assert not found.known
    assert "at least 7 days needed" in found.reason
