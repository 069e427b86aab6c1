from __future__ import annotations

import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sizing.assess.monthly_bill import monthly_bill, per_hour
from prophase.stats.month import MONTH_S
from prophase.trace.prices import Prices

DAY_S = 86400.0


@pytest.fixture
def month() -> pd.DataFrame:
    span = MONTH_S
    return pd.DataFrame(
        {
            "task": ["load", "train", "train"],
            "submit_s": [0.0, 0.0, span - 7200],
            "end_s": [3600.0, 7200.0, span],
            "duration_s": [3600.0, 7200.0, 7200.0],
            "request_cpu_cores": [4.0, 2.0, 2.0],
            "request_memory_gib": [20.0, 100.0, 100.0],
            "request_gpus": [0.0, 1.0, 1.0],
            "gpu_type": [None, "V100", "T4"],
        }
    )


def test_a_month_is_billed_by_what_was_asked_for_and_for_how_long(month):
    prices = Prices({"V100": 5.0, "default": 2.0}, core_hour=1.0, gib_hour=0.1)
    bill = monthly_bill(month, prices, memory_gib={}, cores={}).set_index("task")
    assert bill.loc["load", "cost_per_month"] == pytest.approx(4 + 2)
    assert bill.loc["train", "cost_per_month"] == pytest.approx(2 * (2 + 10 + 5) + 2 * (2 + 10 + 2))
    assert (bill["saved_per_month"] == 0).all()


def test_a_recommendation_saves_what_is_no_longer_asked_for(month):
    bill = monthly_bill(
        month, Prices(gib_hour=0.1), memory_gib={"train": 10.0}, cores={}
    ).set_index("task")
    assert bill.loc["train", "saved_per_month"] == pytest.approx(4 * 90 * 0.1)
    assert bill.loc["load", "saved_per_month"] == 0


def test_half_a_month_is_stretched_to_one(month):
    half = month.assign(end_s=month["end_s"] / 2, submit_s=month["submit_s"] / 2)
    bills = [
        monthly_bill(jobs, Prices(core_hour=1.0), memory_gib={}, cores={}) for jobs in (month, half)
    ]
    totals = [bill["cost_per_month"].sum() for bill in bills]
    assert totals[1] == pytest.approx(2 * totals[0], rel=0.01)


def test_less_than_a_week_is_not_stretched_to_a_month_and_keeps_its_order(month):
    days = month.assign(end_s=month["end_s"] / 10, submit_s=month["submit_s"] / 10)
    bill, same = (
        monthly_bill(jobs, Prices(core_hour=1.0), memory_gib={}, cores={}) for jobs in (days, month)
    )
    assert bill["cost_per_month"].isna().all()
    assert bill["task"].tolist() == same["task"].tolist()


def test_a_gpu_without_a_price_is_named_unless_no_gpu_has_one(month):
    with pytest.raises(InputError, match="no GPU type 'T4'"):
        per_hour(month, Prices({"V100": 5.0}))
    assert per_hour(month, Prices(core_hour=1.0)).tolist() == [4.0, 2.0, 2.0]


def test_nothing_can_be_priced_without_durations():
    with pytest.raises(InputError, match="duration_s"):
        monthly_bill(pd.DataFrame({"task": ["a"]}), Prices(core_hour=1), memory_gib={}, cores={})
