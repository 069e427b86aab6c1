from __future__ import annotations

import numpy as np
import pytest
from tests.phase.made_series import steps

from prophase.errors import InputError, ParameterError
from prophase.phase.model_selection import (
    LabellerTrial,
    choose,
    doubt,
    marked,
    reason,
    sweep,
)

SCALED = [(steps([1.0, 4.0, 1.0, 4.0], 25, seed=n) - 2) / 2 for n in range(4)]


@pytest.mark.parametrize(
    # a window that spans a step has a mean of its own, which may count as a third level
    ("labeller", "right"),
    [("samples", {2}), ("windows", {2, 3})],
)
def test_the_number_of_levels_is_found_by_every_quick_labeller(
    labeller: str, right: set[int]
) -> None:
    found, trials = choose(SCALED, labeller, window=2)
    assert found.n_phases in right
    assert trials[1].bits < trials[0].bits


def test_a_sweep_ranks_by_bits_and_reports_stability() -> None:
    trials = sweep(SCALED, ["samples", "hmm"], n_phases=[1, 2], windows=[1])
    assert [one.bits for one in trials] == sorted(one.bits for one in trials)
    two = [one for one in trials if one.n_phases == 2]
    assert all(one.stability is not None and one.stability > 0.9 for one in two)


def test_what_cannot_be_tried_is_refused() -> None:
    with pytest.raises(ParameterError, match="phases is 0"):
        choose(SCALED, n_phases=0)
    with pytest.raises(ParameterError, match="window is -1"):
        choose(SCALED, window=-1)
    with pytest.raises(InputError, match="too few to find phases"):
        choose([np.zeros((2, 1))], n_phases=2, window=3)


def test_hidden_features_are_swept_for_the_network_only() -> None:
    trials = sweep(SCALED, ["crbm", "samples"], n_phases=[2], windows=[2], hidden=[3, 6])
    assert sorted((one.labeller, one.hidden) for one in trials if one.hidden) == [
        ("crbm", 3),
        ("crbm", 6),
    ]
    assert [one.hidden for one in trials if one.labeller == "samples"] == [None]


def test_a_choice_comes_with_the_reason_that_decided() -> None:
    found, trials = choose(SCALED, "samples", window=1)
    said = reason(trials)
    assert said is not None
    assert found.n_phases == 2
    assert said.startswith(f"Chosen of {len(trials)} trials: 2 phases and a window of 1 sample")
    assert "one phase less would take" in said
    assert "one phase more would take" in said
    assert reason(trials[:1]) is None


def test_a_sweep_marks_what_a_fit_takes() -> None:
    for labeller in ("hmm", "samples"):
        fitted, _ = choose(SCALED[:2], labeller, window=1)
        trials = sweep(SCALED[:2], [labeller], n_phases=range(1, 5), windows=[1], stability=False)
        taken = next(one for one in trials if one.chosen)
        assert (taken.n_phases, taken.window) == (fitted.n_phases, 1)


def test_larger_containers_are_no_phase_of_their_own() -> None:
    sizes = [1.0, 1.05, 1.2, 1.3]
    series = [size * steps([1.0, 4.0, 1.0, 4.0], 25, seed=n) for n, size in enumerate(sizes)]
    found, _ = choose(series, "hmm", window=1)
    assert found.n_phases == 2


def test_services_that_share_no_level_keep_their_phases() -> None:
    series = [steps(levels * 2, 25, seed=n) for n, levels in enumerate([[1, 4], [1, 4], [20, 30]])]
    found, _ = choose(series, "hmm", window=1)
    assert found.n_phases == 4


def test_one_series_is_enough_for_plain_levels() -> None:
    found, trials = choose([steps([1.0, 4.0, 7.0] * 2, 25)], "hmm", window=1)
    assert found.n_phases == 3
    assert doubt(trials) is None


def test_what_cannot_be_told_is_said() -> None:
    trials = marked(
        [
            LabellerTrial("hmm", n, 1, bits / 100, 5.0, by_series=(bits,))
            for n, bits in ((1, 900.0), (2, 500.0), (3, 504.0))
        ]
    )
    said = doubt(trials)
    assert said is not None
    assert "3 explains them about as well as 2" in said
