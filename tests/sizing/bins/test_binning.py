from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.binning import best_bins

from prophase.errors import InputError, ParameterError
from prophase.sizing.bins.binning import Binning, improvement, search_binning


def _allocated(binning: Binning, peak: np.ndarray, weight: np.ndarray) -> float:
    return float((binning.requests(binning.classes(peak)) * weight).sum())


@pytest.mark.parametrize("seed", range(12))
def test_the_search_finds_what_trying_every_combination_finds(seed):
    rng = np.random.default_rng(seed)
    peak = np.minimum(np.exp(rng.normal(1.5, 1.2, int(rng.integers(8, 40)))), 95.0)
    weight = rng.random(len(peak)) if seed % 2 else np.ones(len(peak))
    bins, fewest, stride = int(rng.integers(1, 5)), int(rng.integers(1, 4)), 10.0
    least = best_bins(
        peak.tolist(), weight.tolist(), bins=bins, stride=stride, top=100.0, fewest=fewest
    )

    def search() -> Binning:
        return search_binning(
            peak, bins=bins, stride_gib=stride, top_gib=100.0, weight=weight, fewest=fewest
        )

    if least is None:
        with pytest.raises(InputError, match="fewer bins"):
            search()
    else:
        assert _allocated(search(), peak, weight) == pytest.approx(least)


def test_improvements_are_those_of_the_formula_by_hand():
    # 98.3 % of runs up to 30 GiB give the 89.9 % of Table 6
    peak = np.array([5.0] * 983 + [100.0] * 17)
    assert improvement(Binning((30.0, 350.0)), peak) == pytest.approx(89.9, abs=0.05)
    time = np.array([1.0] * 983 + [9.0] * 17)
    by_time = 100 * (1 - (983 * 30 + 17 * 9 * 350) / ((983 + 17 * 9) * 350))
    assert improvement(Binning((30.0, 350.0)), peak, weight=time) == pytest.approx(by_time)


def test_a_smaller_largest_bin_improves_on_what_was_asked_for_before():
    peak = np.array([5.0, 80.0])
    assert improvement(Binning((10.0, 100.0)), peak, before_gib=350.0) == pytest.approx(
        100 * (1 - 110 / 700)
    )


def test_fewer_runs_than_bins_are_refused_with_the_reason():
    with pytest.raises(InputError, match="2 runs cannot fill 3 bins"):
        search_binning(np.array([1.0, 2.0]), bins=3, stride_gib=1, top_gib=10)


def test_a_peak_above_the_largest_bin_is_refused_because_it_would_always_be_killed():
    with pytest.raises(InputError, match="above the largest bin of 10 GiB, up to 20"):
        search_binning(np.array([1.0, 20.0]), bins=1, stride_gib=1, top_gib=10)


def test_negative_peaks_are_refused():
    with pytest.raises(InputError, match="from 0 up"):
        search_binning(np.array([-1.0, 2.0]), bins=1, stride_gib=1, top_gib=10)


@pytest.mark.parametrize("edges", [(), (10.0, 5.0), (0.0, 5.0), (5.0, float("inf"))])
def test_edges_that_do_not_rise_from_above_0_are_refused(edges):
    with pytest.raises(ParameterError, match="rising amounts"):
        Binning(edges)


def test_run_times_of_nothing_are_refused():
    with pytest.raises(InputError, match="no run has a run time above 0"):
        improvement(Binning((10.0, 20.0)), np.array([1.0]), weight=np.array([0.0]))


def test_edges_are_written_as_what_they_stand_for() -> None:
    peak = np.array([19.0] * 10 + [23.0] * 10)
    assert search_binning(peak, bins=2, stride_gib=0.6, top_gib=24.0).edges_gib == (19.2, 24.0)
