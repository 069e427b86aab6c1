from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import InputError
from prophase.sizing.bins.experiments import run_experiments

THREE = [(10.0, 60.0, 350.0)]
ONE_MODEL = {"classifiers": ["svm"], "samplings": ["none"], "trials": 1}


@pytest.mark.parametrize("duration", [0.0, np.nan])
def test_without_run_times_all_runs_count_alike(heavy, duration):
    (found,) = run_experiments(heavy.assign(duration_s=duration), THREE, **ONE_MODEL)
    assert found.time_optimal_pct == pytest.approx(found.optimal_pct)


def test_a_fifth_of_the_runs_is_judged_on_and_its_matrix_adds_up(heavy):
    (found,) = run_experiments(heavy, THREE, **ONE_MODEL)
    assert found.score.total == pytest.approx(len(heavy) / 5, abs=2)
    row = found.row()
    assert row["estimated_pct"] == pytest.approx(
        row["time_optimal_pct"] * row["accuracy_pct"] / 100 - row["u_rate_pct"]
    )


def test_a_bin_without_enough_runs_is_refused_before_anything_is_tuned(heavy):
    light = heavy[heavy["memory_peak_gib"] < 60]
    with pytest.raises(InputError, match=r"350 GiB \(0\)"):
        run_experiments(light, THREE, **ONE_MODEL)
