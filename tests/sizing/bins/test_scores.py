from __future__ import annotations

import numpy as np
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sizing.bins.binning import Binning
from prophase.sizing.bins.scores import (
    marked_confusion,
    realised_improvement,
    score,
)


def test_u_score_counts_an_under_estimate_as_ten_over_estimates_by_hand():
    # 100 runs: 2 over, 1 under
    true = [0] * 97 + [0, 0, 1]
    said = [0] * 97 + [1, 2, 0]
    found = score(true, said, bins=3)
    assert (found.over, found.under, found.total) == (2, 1, 100)
    assert found.u_score == pytest.approx(12.0)
    assert found.u_rate_pct == pytest.approx(1.0)
    assert found.accuracy_pct == pytest.approx(97.0)


def test_a_penalty_of_five_counts_five():
    assert score([1], [0], bins=2, penalty=5).u_score == pytest.approx(500)


def test_a_penalty_that_penalises_nothing_is_refused():
    with pytest.raises(ParameterError, match="plain accuracy"):
        score([0], [0], bins=2, penalty=0.5)
    assert score([0, 1, 1, 0], [1, 0, 1, 0], bins=2, penalty=1).u_score == 50


def test_nothing_to_compare_is_refused():
    with pytest.raises(InputError, match="0 true and 0 predicted"):
        score([], [], bins=2)


def test_complete_correctness_scores_0():
    assert score([0, 1, 2], [0, 1, 2], bins=3).u_score == 0


def test_marks_tell_under_from_over_estimates():
    found = score([0, 1, 2, 2], [1, 1, 0, 2], bins=3)
    table = marked_confusion(found, Binning((1.0, 2.0, 3.0)))
    assert table.loc["1", "2"] == "1 +"
    assert table.loc["3", "1"] == "1 -"
    assert table.loc["3", "3"] == "1"
    assert table.loc["2", "1"] == "0"


def test_kills_are_paid_for_before_the_retry():
    bins = Binning((10.0, 60.0, 350.0))
    # needs the last bin, was given the first: pays all three
    paid = 10 + 60 + 350
    found = realised_improvement(bins, np.array([100.0]), np.array([0]))
    assert found == pytest.approx(100 * (1 - paid / 350))
    # right or too large: pays once
    assert realised_improvement(bins, np.array([5.0]), np.array([1])) == pytest.approx(
        100 * (1 - 60 / 350)
    )
