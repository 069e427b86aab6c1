from __future__ import annotations

import numpy as np
import pytest

from prophase.sizing.bins.binning import Binning, best_binnings, improvement


def test_more_bins_never_save_less_and_each_measure_is_best_by_its_own_search():
    rng = np.random.default_rng(0)
    peak = np.minimum(np.exp(rng.normal(1, 1.3, 400)), 170.0)
    table = best_binnings(peak, peak * 60, 350.0)
    for by, column in (("runs", "optimal_pct"), ("time", "time_based_pct")):
        saved = table[table["by"] == by][column].tolist()
        assert saved == sorted(saved)
        other = table[table["by"] != by][column].tolist()
        assert all(mine >= theirs - 1e-9 for mine, theirs in zip(saved, other, strict=True))


def test_savings_are_those_of_the_printed_edges():
    peak = np.array([2.0] * 80 + [25.0] * 15 + [90.0] * 5)
    for row in best_binnings(peak, np.ones(100), 350.0).to_dict("records"):
        edges = tuple(float(edge) for edge in row["binning"].split("; "))
        again = improvement(Binning(edges), peak, before_gib=350.0)
        assert row["optimal_pct"] == pytest.approx(again)


def test_the_largest_bin_is_not_above_the_request():
    table = best_binnings(np.array([1.0] * 50 + [23.0] * 10), np.ones(60), 24.0)
    assert table["binning"].str.endswith("; 24").all()


def test_runs_that_are_too_few_or_all_alike_have_no_bins():
    assert best_binnings(np.array([1.0, 2.0, 3.0]), np.ones(3), 10.0).empty
    assert best_binnings(np.full(50, 4.0), np.ones(50), 10.0).empty


def test_without_run_times_only_runs_are_counted():
    peak = np.array([1.0] * 50 + [23.0] * 10)
    table = best_binnings(peak, np.full(60, np.nan), 24.0)
    assert set(table["by"]) == {"runs"}
    assert table["time_based_pct"].isna().all()
