from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sizing.kind_recommendation import recommend
from prophase.sizing.saved_money import saved_money
from prophase.trace.prices import Prices


@pytest.fixture
def jobs() -> pd.DataFrame:
    at = np.arange(120)
    table = pd.DataFrame({"job_id": at.astype(str), "task": np.where(at % 3, "align", "sort")})
    table["submit_s"], table["duration_s"] = 21_600.0 * at, 7_200.0
    table["end_s"] = table["submit_s"] + 7_200
    table["memory_peak_gib"] = 2.0 + 0.1 * (at % 5)
    table["request_memory_gib"] = np.where(at % 3, 16.0, 2.5)
    table["request_gpus"], table["gpu_type"], table["gpu_util_mean_pct"] = 1.0, "T4", 30.0
    return table


def test_money_is_told_per_run_task_and_month(jobs):
    found = recommend(jobs)
    rows = {row["task"]: row for row in saved_money(jobs, found, Prices(gib_hour=0.01))}
    align = rows["align"]
    assert align["cost_per_run"] == pytest.approx(16 * 2 * 0.01)
    assert align["saved"] == pytest.approx(align["runs"] * align["saved_per_run"])
    # 30 days are about a month
    assert align["saved_per_month"] == pytest.approx(align["saved"], rel=0.05)
    whole = rows["all tasks"]
    assert whole["cost"] == pytest.approx(align["cost"] + rows["sort"]["cost"])
    assert whole["saved"] == pytest.approx(align["saved"] + rows["sort"]["saved"])


def test_a_task_that_keeps_its_request_saves_nothing_and_a_short_history_has_no_month(jobs):
    short = jobs[jobs["submit_s"] < 86_400 * 5]
    found = recommend(short)
    rows = saved_money(short, found, Prices(gib_hour=0.01))
    kept = [one.task for one in found.tasks if one.keep]
    assert all(row["saved"] == 0 for row in rows if row["task"] in kept)
    assert all(row["saved_per_month"] is None for row in rows)


def test_gpus_are_priced_by_type_and_what_has_no_price_is_refused(jobs):
    found = recommend(jobs, resource="gpu")
    row = saved_money(jobs, found, Prices({"T4": 0.5}))[-1]
    assert row["cost"] == pytest.approx(120 * 2 * 0.5)
    with pytest.raises(InputError, match="no GPU type 'T4'"):
        saved_money(jobs, found, Prices({"V100": 0.5}))
    timed = recommend(jobs.assign(time_limit_s=36_000.0), resource="time")
    with pytest.raises(ParameterError, match="has no price"):
        saved_money(jobs, timed, Prices(gib_hour=0.01))
