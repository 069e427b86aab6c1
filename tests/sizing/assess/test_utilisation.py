from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.sizing.assess.utilisation import ALL, utilisation


def test_utilisation_is_the_sum_of_use_over_the_sum_of_requests_not_the_mean_of_ratios():
    jobs = pd.DataFrame(
        {
            "task": ["a", "a", "b"],
            "request_memory_gib": [10.0, 10.0, 100.0],
            "memory_peak_gib": [5.0, 1.0, 90.0],
            "request_cpu_cores": [4.0, 4.0, 2.0],
            "cpu_peak_cores": [1.0, 1.0, 2.0],
            "duration_s": [100.0, 100.0, 200.0],
        }
    )
    table = utilisation(jobs).set_index(["resource", "task"])
    assert table.loc[("memory", ALL), "utilisation_pct"] == pytest.approx(100 * 96 / 120)
    assert table.loc[("memory", "a"), "utilisation_pct"] == pytest.approx(30)
    assert table.loc[("cpu", ALL), "utilisation_pct"] == pytest.approx(40)
    by_time = 100 * (600 + 90 * 200) / (2000 + 100 * 200)
    assert table.loc[("memory", ALL), "utilisation_by_time_pct"] == pytest.approx(by_time)


def test_rows_without_request_or_use_are_counted_and_left_out():
    jobs = pd.DataFrame(
        {
            "task": ["a", "a", "a", "b"],
            "request_memory_gib": [10.0, np.nan, 0.0, 10.0],
            "memory_peak_gib": [5.0, 5.0, 5.0, np.nan],
        }
    )
    whole = utilisation(jobs).set_index("task").loc[ALL]
    assert (whole["runs"], whole["without"], whole["utilisation_pct"]) == (1, 3, 50.0)


def test_instances_weigh():
    jobs = pd.DataFrame(
        {"request_memory_gib": [10.0, 10.0], "memory_peak_gib": [10.0, 0.0], "instances": [3, 1]}
    )
    assert utilisation(jobs)["utilisation_pct"].iloc[0] == pytest.approx(75)


def test_gpu_percent_becomes_gpus():
    jobs = pd.DataFrame({"request_gpus": [0.5], "gpu_util_mean_pct": [25.0]})
    assert utilisation(jobs)["utilisation_pct"].iloc[0] == pytest.approx(50)


def test_negative_memory_is_refused_with_its_row():
    jobs = pd.DataFrame({"request_memory_gib": [1.0, 1.0], "memory_peak_gib": [1.0, -2.0]})
    with pytest.raises(InputError, match="memory_peak_gib is below 0 in 1 row, first in row 1"):
        utilisation(jobs)


def test_a_trace_without_requests_is_refused_with_what_is_needed():
    with pytest.raises(InputError, match="request_memory_gib"):
        utilisation(pd.DataFrame({"memory_peak_gib": [1.0]}))
