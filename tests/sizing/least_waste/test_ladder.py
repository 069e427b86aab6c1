from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prophase.sizing.least_waste.ladder import Outlook


def _waste(rungs: tuple[float, ...], values: np.ndarray, weights: np.ndarray) -> float:
    """Climb a ladder with every value: the slow, obvious way."""
    total = 0.0
    for value, weight in zip(values, weights, strict=True):
        for rung in rungs:
            if rung >= value:
                total += weight * (rung - value)
                break
            total += weight * rung
    return total / weights.sum()


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6, unique=True), st.integers(0, 9))
def test_the_ladder_wastes_as_little_as_the_best_of_all_ladders(
    values: list[int], seed: int
) -> None:
    amounts = np.sort(np.array(values, dtype=float))
    weights = np.random.default_rng(seed).uniform(0.1, 1.0, len(amounts))
    rungs, waste = Outlook(amounts, weights).ladder()
    every = [
        (*lower, amounts[-1])
        for count in range(len(amounts))
        for lower in combinations(amounts[:-1], count)
    ]
    best = min(_waste(one, amounts, weights) for one in every)
    assert np.isclose(waste, best)
    assert np.isclose(_waste(tuple(rungs), amounts, weights), best)


def test_a_kill_that_costs_more_makes_the_first_rung_higher() -> None:
    values = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 4.0])
    weights = np.ones(8)
    cheap, _ = Outlook(values, weights).ladder()
    dear, _ = Outlook(values, weights).ladder(kill_cost=100.0)
    assert cheap[0] == 1.0
    assert dear == [4.0]


def test_after_a_kill_only_higher_values_remain() -> None:
    outlook = Outlook(np.array([1.0, 2.0, 3.0]), np.ones(3), above=1.0)
    assert outlook.values.tolist() == [2.0, 3.0]
    assert not len(Outlook(np.array([1.0]), np.ones(1), above=1.0))


def test_large_samples_are_thinned_out_but_keep_their_highest_value() -> None:
    values = np.random.default_rng(1).lognormal(size=5000)
    outlook = Outlook(values, np.ones(5000))
    assert len(outlook) < 60
    assert outlook.values[-1] == values.max()
    assert abs(outlook.quantile(0.9) - np.quantile(values, 0.9)) < 0.3
