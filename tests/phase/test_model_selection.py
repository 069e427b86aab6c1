from __future__ import annotations

import numpy as np
import pytest
from tests.phase.made_series import steps

from prophase.errors import InputError, ParameterError
from prophase.phase.model_selection import choose, reason, sweep

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


def test_a_choice_comes_with_its_reason() -> None:
    found, trials = choose(SCALED, "samples", window=1)
    said = reason(trials, found.n_phases, 1)
    assert said is not None
    assert said.startswith(f"Chosen of {len(trials)} trials: 2 phases and a window of 1 sample")
    assert reason(trials[:1], 2, 1) is None
