from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import ParameterError
from prophase.sizing.bins.binning import Binning
from prophase.sizing.bins.classifier_catalogue import CautiousLine
from prophase.sizing.bins.classifiers import Runs


def _runs(count: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(count, 2))
    return seen, 1 + np.exp(1 + seen[:, 0] + 0.1 * rng.normal(size=count))


def test_it_names_a_bin_that_no_run_was_in_yet():
    seen, peak = _runs()
    bins = Binning((5.0, 20.0, 1000.0))
    light = peak < 20
    made = CautiousLine({"margin": 0.0, "ridge": 0.1}).fit(
        seen[light], bins.classes(peak[light]), Runs(peak[light], bins)
    )
    assert made.predict(np.array([[3.5, 0.0]])).tolist() == [2]


def test_a_wider_margin_never_predicts_less():
    seen, peak = _runs()
    bins = Binning((3.0, 6.0, 1000.0))
    answers = [
        CautiousLine({"margin": margin})
        .fit(seen, bins.classes(peak), Runs(peak, bins))
        .predict(seen)
        for margin in (0.0, 1.0, 2.0)
    ]
    assert (answers[1] >= answers[0]).all()
    assert (answers[2] >= answers[1]).all()


def test_a_far_estimate_stays_finite():
    seen, peak = _runs()
    bins = Binning((5.0, 1000.0))
    made = CautiousLine({}).fit(seen, bins.classes(peak), Runs(peak, bins))
    assert np.isfinite(made.estimate(np.array([[1e6, 0.0]]))).all()


def test_it_refuses_over_sampled_runs_and_bins_without_peaks():
    with pytest.raises(ParameterError, match="over-sampled"):
        CautiousLine.searched("smote")
    with pytest.raises(ParameterError, match="needs the peaks"):
        CautiousLine({}).fit(np.zeros((2, 1)), np.zeros(2, dtype=int))
