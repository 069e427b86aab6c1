from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prophase import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.35, "12.3"),
        (12.36, "12.4"),
        (0.0, "0"),
        (-0.0, "0"),
        (7, "7"),
        (999.4, "999"),
        (999.7, "1,000"),
        (-1234.5, "-1,234"),
        (12_345_678.9, "12,345,679"),
        (10**20, "100,000,000,000,000,000,000"),
        (1e20, "1e+20"),
        (0.00012345, "0.000123"),
        (np.float64(2.5), "2.5"),
        (np.int64(2500), "2,500"),
        (math.nan, "-"),
        (None, "-"),
        (math.inf, "unbounded"),
    ],
)
def test_a_number_has_three_digits_that_count(value, text):
    assert units.number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "250 ms"),
        (59.97, "1 min"),
        (90, "1.5 min"),
        (5400, "1.5 h"),
        (86_399.0, "1 d"),
        (12_345, "3.43 h"),
        (-240, "-4 min"),
        (1e9, "11,574 d"),
        (None, "-"),
        (math.inf, "unbounded"),
    ],
)
def test_a_duration_is_written_in_the_unit_that_suits_it(seconds, text):
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("gib", "text"),
    [
        (0, "0 GiB"),
        (2.0**-30, "1 B"),
        (3e-7, "322 B"),
        (0.001, "1.02 MiB"),
        (0.9999, "1 GiB"),
        (64, "64 GiB"),
        (4_194_304, "4,096 TiB"),
    ],
)
def test_memory_is_written_in_the_unit_that_suits_it(gib, text):
    assert units.memory(gib) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.314, "31.4 %"),
        (0.0025, "0.25 %"),
        (0.00996, "1 %"),
        (0.00001, "<0.01 %"),
        (0.9996, ">99.9 %"),
        (1, "100 %"),
        (12.345, "1,234 %"),
        (-0.05, "-5 %"),
        (math.nan, "-"),
    ],
)
def test_a_share_never_becomes_a_false_nothing_or_everything(share, text):
    assert units.percent(share) == text


def test_an_estimate_without_an_interval_stands_alone():
    assert units.estimate(31.42, 27.9, 35.06, "%") == "31.4 % (27.9 to 35.1)"
    assert units.estimate(0.4963, 0.2041, 0.9, "%") == "0.5 % (0.2 to 0.9)"
    assert units.estimate(31.42, None, 35.06, "%") == "31.4 %"
    assert units.estimate(31.42, math.nan, math.nan, "%") == "31.4 %"
    assert units.estimate(None, 1.0, 2.0, "%", missing="unknown") == "unknown"


def test_cells_hold_what_tables_hold():
    values = [np.float64(0.5), np.bool_(True), pd.NA, pd.NaT, "x", 1200, np.nan]
    assert [units.cell(one, missing="–") for one in values] == [
        "0.5", "yes", "–", "–", "x", "1,200", "–",
    ]  # fmt: skip


@given(st.floats(1e-3, 8e7))
def test_a_duration_that_was_written_is_read_back_to_three_digits(seconds):
    found = units.parse_duration(units.duration(seconds), bare="s")
    assert found == pytest.approx(seconds, rel=0.0051)


@given(st.floats(2.0**-20, 1e5))
def test_memory_that_was_written_is_read_back_to_three_digits(gib):
    found = units.parse_memory(units.memory(gib).replace(",", ""), g_is="binary", bare="GiB")
    assert found == pytest.approx(gib, rel=0.0051)


@given(st.floats(0, 1))
def test_a_share_that_was_written_is_read_back_to_a_tenth_of_a_percent(share):
    found = units.parse_share(units.percent(share).strip("<>"))
    assert found == pytest.approx(share, abs=0.0011)


@given(st.floats(0.5, 1e5))
def test_requests_for_schedulers_hold_the_whole_amount(amount):
    assert units.whole_mib(amount) / 1024 >= amount - 1e-6
    limit = units.parse_duration(units.slurm_time(amount), bare="min")
    assert amount - 1e-3 <= limit < max(amount, 60.0) + 60.0


def test_importing_units_loads_no_table_library():
    code = "import sys, prophase.units; print({'numpy', 'pandas', 'ibis'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
