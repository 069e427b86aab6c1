from __future__ import annotations

import numpy as np

from prophase.profile.predict.expert_weights import ExpertWeights

TWO = ("forest", "median")


def weights_at(held: ExpertWeights, *moments: float) -> np.ndarray:
    found, which = held.at(np.zeros(len(moments), dtype=int), np.array(moments))
    return found[which]


def test_weights_follow_the_expert_that_is_right_and_come_back_when_the_world_changes() -> None:
    held = ExpertWeights(TWO, np.ones(2), cells=1)
    first, second = np.tile([0.9, 0.1], (1_000, 1)), np.tile([0.1, 0.9], (1_000, 1))
    held.add(np.vstack([first, second]), np.zeros(2_000, dtype=int), np.arange(2_000.0))
    before, after = weights_at(held, 1_000.0, np.inf)
    assert before[0] > 0.9
    assert after[1] > 0.8


def test_an_outcome_counts_only_after_it_is_known() -> None:
    held = ExpertWeights(TWO, np.ones(2), cells=1)
    held.add(np.tile([0.9, 0.1], (100, 1)), np.zeros(100, dtype=int), np.full(100, 50.0))
    early, late = weights_at(held, 50.0, 50.1)
    np.testing.assert_allclose(early, 0.5)
    assert late[0] > 0.6


def test_one_by_one_is_the_same_as_all_at_once() -> None:
    density = np.random.default_rng(0).random((130, 2)) + 0.01
    cell = np.zeros(130, dtype=int)
    together, alone = (ExpertWeights(TWO, np.ones(2), cells=1) for _ in range(2))
    together.add(density, cell, np.arange(130.0))
    for row in range(130):
        alone.add(density[[row]], cell[[row]], np.array([float(row)]))
    np.testing.assert_allclose(weights_at(together, 60.0, np.inf), weights_at(alone, 60.0, np.inf))


def test_no_expert_is_ever_without_a_voice() -> None:
    held = ExpertWeights(TWO, np.ones(2), cells=1)
    held.add(np.tile([1.0, 1e-9], (5_000, 1)), np.zeros(5_000, dtype=int), np.arange(5_000.0))
    assert weights_at(held, np.inf)[0, 1] >= 0.04


def test_jobs_of_which_nothing_could_be_said_move_no_weight() -> None:
    held, alone = (ExpertWeights(TWO, np.ones(2), cells=1) for _ in range(2))
    density = np.tile([0.9, 0.1], (100, 1))
    alone.add(density, np.zeros(100, dtype=int), np.full(100, 5.0))
    # they came before anything had ended, so an expert that remembers is silent
    density = np.vstack([np.tile([0.9, np.nan], (100, 1)), density])
    held.add(density, np.zeros(200, dtype=int), np.repeat([1.0, 5.0], 100))
    np.testing.assert_array_equal(weights_at(held, 3.0, np.inf), weights_at(alone, 3.0, np.inf))
